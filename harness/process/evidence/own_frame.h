// Selects the frame of a stack that a person should read first: the innermost frame of the program's own
// code.
#pragma once

#include <optional>
#include <string_view>

#include "harness/journal/events.h"
#include "harness/process/evidence/thread_stacks.h"

namespace proctor {

// Returns whether the frame belongs to the C library, the C++ runtime or a sanitizer runtime.
bool is_runtime(const ThreadFrame& frame);

// Returns whether the function only raises a signal, so that it lies between the error and the signal. Names
// with a common prefix count only if they belong to the implementation. `abort_transfer` belongs to the
// program.
bool only_raises(std::string_view function);

// Returns whether a native function belongs to the Python interpreter. From there on the Python stack has
// better information.
bool is_interpreter(std::string_view function);

// Returns the frames below the innermost signal handler, or all frames if there is none. The frames above it
// only handle the signal.
std::vector<ThreadFrame> below_handler(const std::vector<ThreadFrame>& frames);

// Returns the first frame with a source line that is not in a runtime. Otherwise returns the first frame that
// is not in a system library. The source path is complete.
std::optional<StackFrame> own_frame(const ThreadStack& native, bool is_python);

// Returns the first frame outside Python's standard library and packages installed with pip. Otherwise
// returns the first frame outside the standard library.
std::optional<StackFrame> own_python_frame(const ThreadStack& python);

// Returns the own frame of the stack that Python prints at a fatal signal (`-X faulthandler`, which pytest
// enables).
std::optional<StackFrame> frame_of_fatal_error(std::string_view output);

}  // namespace proctor
