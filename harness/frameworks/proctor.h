// Programs that use the child protocol (journal/child_protocol.h): Proctor's suites, made with suites/main.
//
//   list   CMD --proctor-list: events of type `case`
//   run    CMD --proctor-case=NAME
//
//   no `end` event                        error(no_result)
//   invalid events                        error(protocol)
//   end contradicts events or exit code   error(result_mismatch)
//   end pass | fail | skip | error        pass | fail(R) | skip(R) | error(R)
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& proctor_kind();

}  // namespace proctor
