// Readers of report formats that others wrote (reports/readers/count.py), for tests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json.h"

namespace proctor::testing_support {

// What `reader` counts in each file. None where it is not installed; ./dev test installs it.
std::optional<std::vector<nlohmann::json>> counts(const std::string& reader,
                                                  const std::vector<std::filesystem::path>& files,
                                                  const std::filesystem::path& ctrf_schema = {});

// "" when it takes the file, else what it says.
std::string complaint_of_reader(const std::string& reader, const std::filesystem::path& file,
                                const std::filesystem::path& ctrf_schema);

// The schemas of CTRF: ours, and the published one where it is.
std::vector<std::filesystem::path> ctrf_schemas();

}  // namespace proctor::testing_support
