// Everything that a vendor's libraries say about this machine, as the probe's JSON
// document (main_xpu.cc, main_cuda.cc).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace proctor::probe {

nlohmann::json describe_level_zero();
nlohmann::json describe_cuda();

// The release name that a driver library carries for its own build number, e.g. "22.43.24595" for build
// 24595, or "". Level Zero itself tells the build number only, while Intel publishes releases by this name.
std::string release_name(const std::string& library_path, unsigned build);

}  // namespace proctor::probe
