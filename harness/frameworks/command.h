// Any command: the whole of it is one case, judged by its exit code: 0 is a pass, Suite::skip_code a skip, and any other
// one a failure.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& command_kind();

}  // namespace proctor
