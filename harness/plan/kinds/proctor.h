// Programs that speak the child protocol (core/child_protocol.h): ours, made with suites/main.
//
//   list   CMD --proctor-list: events of type `case`
//   run    CMD --proctor-case=NAME
#pragma once

#include "harness/plan/kinds/kind.h"

namespace proctor {

const Kind& proctor_kind();

}  // namespace proctor
