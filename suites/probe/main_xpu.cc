// proctor-probe-xpu reports the state of Level Zero on this machine (probe_main.h). Its document:
//   {"v":1, "problem":"" | "library_missing:libze_loader.so.1" | "no_driver" | "no_device" | "init:CODE" |
//    "enumerate:CODE", "detail":TEXT, "loader":{"path","version"}, "missing_symbols":[..],
//    "init":CODE, "drivers":[{"library","version","release","api","devices":[{"name","type",
//    "vendor_id","device_id","uuid","pci","integrated","subdevice","memory_bytes",
//    "sub_devices":[{"uuid","subdevice_id"}]}]}]}
// Codes are spelled as in the specification, for example ZE_RESULT_ERROR_UNINITIALIZED.
#include <nlohmann/json.hpp>

#include "suites/probe/probe_main.h"

int main(int argc, char** argv) {
  using namespace proctor::probe;
  probe_main(argc, argv, {"proctor-probe-xpu", describe_level_zero, open_xpu_devices});
}
