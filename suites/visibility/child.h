// The other half of the visibility suite: `visibility_xpu --child MODE` is exec'd with a given environment,
// looks once, writes one JSON document to descriptor 3 and leaves without running any driver's exit handlers.
// Because a mask is read once per process, and because a malformed one may crash the driver, nothing is ever
// enumerated in the process of a check.
//
//   enumerate                    {"seen":ENUMERATION}
//   enumerate-after-setenv NAME VALUE    sets it before the first call
//   twice                        {"seen":.., "again":.., "same_handles":BOOL}
//   setenv-after-init NAME VALUE {"seen":.., "again":..}: enumerates, sets it, initializes and enumerates
//   again counts                       {"over":{result,count,devices}, "under":{result,count,same_first}}
//   null-count                   {"validation_layer":BOOL, "result":CODE} of zeDeviceGet(driver, nullptr,
//   nullptr), only
//                                asked when the loader has mapped its validation layer
//   peers                        {"seen":.., "peers":[[{"result","reachable"}]]}
//   sysman                       {"result":CODE, "devices":[{"uuid","pci"}]}
//   grandchild                   execs itself in mode enumerate
//   hold                         {"seen":..}, then waits for the end of its input
// Every document has "missing_symbols" and "loader"; without a loader it is {"problem":"library_missing:.."}.
#pragma once

namespace proctor::visibility {

inline constexpr const char* kChildOption = "--child";
inline constexpr int kAnswerFd = 3;

// argv behind --child.
int child_main(int argc, char** argv);

}  // namespace proctor::visibility
