// The kind for any command: the whole command is one case, judged by its exit code. 0 is a pass,
// Suite::skip_code a skip, and any other code a failure.
#pragma once

#include "harness/frameworks/kind.h"

namespace proctor {

const Kind& command_kind();

}  // namespace proctor
