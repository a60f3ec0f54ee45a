// Whose device nodes this process could open: a guess before anything is loaded, where one must be made.
#pragma once

namespace proctor {

bool has_nvidia_node();  // /dev/nvidia0 ...
bool has_intel_node();   // a render node of an Intel device

}  // namespace proctor
