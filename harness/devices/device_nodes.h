// Which vendors' device nodes this process can open, to guess the vendor before a driver is loaded.
#pragma once

namespace proctor {

bool has_nvidia_node();  // /dev/nvidia0 ...
bool has_intel_node();   // a render node of an Intel device

}  // namespace proctor
