// Builds accept.json documents for tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/base/json.h"

namespace proctor::testing_support {

inline nlohmann::json accept_step_json(const std::string& name, const std::string& state,
                                       const std::string& gap = "") {
  return {{"name", name}, {"state", state}, {"gap", gap}};
}

inline nlohmann::json accept_device_json(int number, const std::string& verdict,
                                         const std::string& action = "") {
  const std::string state = verdict == "passed" ? "proven" : verdict == "failed" ? "failed" : "not tried";
  nlohmann::json device = {
      {"id", fmt::format("cuda-sim:{}", number)},
      {"model", "Simulated GPU A40G"},
      {"uuid", fmt::format("GPU-{}7d38ec8-1e3d-b106-c12f-20bd9faad9f6", number)},
      {"pci", fmt::format("0000:0{}:00.0", number)},
      {"verdict", verdict},
      {"findings", nlohmann::json::array()},
      {"gaps", nlohmann::json::array()},
      {"figures", nlohmann::json::array()},
      {"steps",
       {accept_step_json("driver", "proven"), accept_step_json("copy", state, "1 case was not run")}},
      {"facts", {{"before", {{"replays", 0}, {"ecc", true}}}, {"after", {{"replays", 0}, {"ecc", true}}}}}};
  if (!action.empty()) device["action"] = action;
  if (verdict == "failed")
    device["findings"] = {{{"words", "a copy has a wrong byte"},
                           {"case", "memory.cuda/Copy.DestinationHasSourceBytes"},
                           {"evidence", "logs/a.log"}}};
  if (verdict == "incomplete") device["gaps"] = {"copy: 1 case was not run"};
  if (verdict != "passed")
    device["next"] = fmt::format("proctor accept --devices cuda-sim:{} --level 2", number);
  return device;
}

inline nlohmann::json accept_report_json(const std::string& verdict, int code,
                                         const std::vector<nlohmann::json>& devices,
                                         const std::string& run_id = "20260131T120000Z-ab12") {
  return {{"schema_version", 1},
          {"verdict", verdict},
          {"exit_code", code},
          {"level", 1},
          {"simulated", true},
          {"run_id", run_id},
          {"host", "node1"},
          {"duration_ms", 4200},
          {"command_line", "proctor accept --level 1 --sim cuda:4"},
          {"devices", devices},
          {"omitted_steps", nlohmann::json::array()},
          {"problems", nlohmann::json::array()},
          {"not_covered", {"memory patterns (level 3)", "the fabric between machines"}}};
}

inline nlohmann::json one_failed_of_four() {
  return accept_report_json("failed", 1,
                            {accept_device_json(0, "passed"), accept_device_json(1, "passed"),
                             accept_device_json(2, "failed", "replace"), accept_device_json(3, "passed")});
}

}  // namespace proctor::testing_support
