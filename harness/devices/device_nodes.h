// Which vendors' device nodes this process could open. For a guess that must be made before anything is
// loaded.
#pragma once

namespace proctor {

bool has_nvidia_node();  // /dev/nvidia0 ...
bool has_intel_node();   // a render node of an Intel device

}  // namespace proctor
