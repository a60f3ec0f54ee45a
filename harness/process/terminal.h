// The terminal that a case was given (--no-capture, --debugger).
#pragma once

namespace proctor {

// Makes the runner's process group the foreground group of its terminal again.
void take_terminal_back();

}  // namespace proctor
