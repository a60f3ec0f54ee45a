// The child process of a visibility suite, `visibility_xpu --child DIRECTORY MODE`. A check starts it with a given
// environment. It changes to the directory (glibc 2.28 has no posix_spawn that does), enumerates once, and writes
// one JSON document to descriptor 3. It ends without running a driver's exit handlers. A driver reads its mask
// once per process and may crash on a malformed one. The process of a check therefore never enumerates devices.
//
// Modes for every vendor:
//   enumerate               {"seen":ENUMERATION}
//   enumerate-after-setenv  NAME VALUE: sets it before the first call
//   setenv-after-init       NAME VALUE: {"seen":.., "again":..}, enumerates, sets it and does so again
//   grandchild              execs itself in mode enumerate
//   hold                    {"seen":..}, then waits for the end of its input
//
// Modes for Level Zero (those for CUDA are in cuda/child.cc):
//   twice                   {"seen":.., "again":.., "same_handles":BOOL}
//   counts                  {"over":{result,count,devices}, "under":{result,count,same_first}}
//   null-count              {"validation_layer":BOOL, "result":CODE} of zeDeviceGet(driver, nullptr,
//                           nullptr), called only if the loader has mapped its validation layer
//   peers                   {"seen":.., "peers":[[{"result","reachable"}]]}
//   tiles                   {"seen":.., "tiles":ENUMERATION}, with the sub-devices of all devices as devices
//   properties              {"answers":[PROPERTIES, PROPERTIES]}, see properties_level_zero.h
//   lists, tables           {"lists" or "tables":..}, see properties_level_zero.h
//   init                    FLAGS: {"result":CODE, "gpus":N, "seen":..} of a process that initialises with FLAGS
//   sysman UUIDS            the result of enumerate_sysman() for UUIDS, separated by commas
//
// Every document of Level Zero has "missing_symbols" and "loader". Without a loader it is
// {"problem":"library_missing:.."}.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "suites/main/second_process.h"

namespace proctor::visibility {

using suite::kAnswerFd;

inline constexpr const char* kChildOption = "--child";

// The main() of a child. Takes the arguments after --child.
int child_main(int argc, char** argv);

// ---- declared here, defined for each vendor ----

// A mode of the child: its name and the number of its arguments.
struct Mode {
  const char* name;
  std::size_t arguments = 0;  // number of arguments after the name
};
std::span<const Mode> modes();
// Runs one of these modes, except grandchild, and returns its document. `arguments` are the mode and its
// arguments.
nlohmann::json answer_of(const std::vector<std::string>& arguments);

}  // namespace proctor::visibility
