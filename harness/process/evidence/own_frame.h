// The frame of a stack at which a person starts to look: the innermost one of the program's own.
#pragma once

#include <optional>
#include <string_view>

#include "harness/journal/events.h"
#include "harness/process/evidence/thread_stacks.h"

namespace proctor {

// Whether it belongs to the C library or to the runtime of C++ or a sanitizer.
bool is_runtime(const ThreadFrame& frame);

// Whether the function only raises a signal: it is between what went wrong and the signal. Of names that begin alike
// only those of the implementation count: `abort_transfer` is the program's own.
bool only_raises(std::string_view function);

// Whether a native function belongs to the Python interpreter: where it begins, the Python stack says more.
bool is_interpreter(std::string_view function);

// What is above a signal handler only tells of the signal: the frames below the innermost one, or all of them.
std::vector<ThreadFrame> below_handler(const std::vector<ThreadFrame>& frames);

// The first frame with a source line that is not of a runtime; else the first one that is not in a library of the
// system. With the source's whole path.
std::optional<StackFrame> own_frame(const ThreadStack& native, bool is_python);

// The first frame outside Python's standard library and what is installed with pip; else the first one outside the
// standard library.
std::optional<StackFrame> own_python_frame(const ThreadStack& python);

// Of the stack that Python itself prints at a fatal signal (`-X faulthandler`, which pytest turns on).
std::optional<StackFrame> frame_of_fatal_error(std::string_view output);

}  // namespace proctor
