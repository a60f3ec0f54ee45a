// Which vendors' device nodes this process can open, to guess the vendor before a driver is loaded.
#pragma once

namespace proctor {

bool has_nvidia_node();  // /dev/nvidia0 ...
bool has_intel_node();   // a render node of an Intel device
// The same of one that is not the processor's own graphics, which is PCI device 0000:00:02.0 (source: the datasheets of
// Intel's processors, "Processor Graphics").
bool has_discrete_intel_node();

}  // namespace proctor
