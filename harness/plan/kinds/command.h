// Any command: the whole of it is one case, judged by its exit code: 0 is a pass and 77 a skip, the convention
// of automake's test driver and of CTest's SKIP_RETURN_CODE users.
#pragma once

#include "harness/plan/kinds/kind.h"

namespace proctor {

const Kind& command_kind();

}  // namespace proctor
