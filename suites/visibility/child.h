// The other half of a visibility suite: `visibility_xpu --child DIRECTORY MODE` is exec'd with a given
// environment, goes to that directory (glibc 2.28 has no posix_spawn that does), looks once, writes one
// JSON document to descriptor 3 and leaves without running any driver's exit handlers. Because a mask
// is read once per process, and because a malformed one may crash the driver, nothing is ever
// enumerated in the process of a check.
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
//                           nullptr), only asked when the loader has mapped its validation layer
//   peers                   {"seen":.., "peers":[[{"result","reachable"}]]}
//   tiles                   {"seen":.., "tiles":ENUMERATION} with the sub-devices of all devices for devices
//   properties              {"answers":[PROPERTIES, PROPERTIES]}, see properties_level_zero.h
//   lists, tables           {"lists" or "tables":..}, see there
//   init                    FLAGS: {"result":CODE, "gpus":N, "seen":..} of a process that initialises with them
//   sysman UUIDS            what enumerate_sysman() gives, for the UUIDs between commas
//
// Every document of Level Zero has "missing_symbols" and "loader"; without a loader it is
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

// Takes the arguments after --child.
int child_main(int argc, char** argv);

// ---- what each vendor's half gives ----

struct Mode {
  const char* name;
  std::size_t arguments = 0;  // behind the name
};
std::span<const Mode> modes();
// The document for one of these modes, except grandchild, with its arguments.
nlohmann::json answer_of(const std::vector<std::string>& arguments);

}  // namespace proctor::visibility
