// Runs independent readers of report formats (reports/readers/count.py) in tests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json.h"

namespace proctor::testing_support {

// Returns the counts of `reader` for each file. Returns nothing if the reader is not installed; ./dev test installs it.
std::optional<std::vector<nlohmann::json>> counts(const std::string& reader,
                                                  const std::vector<std::filesystem::path>& files,
                                                  const std::filesystem::path& ctrf_schema = {});

// Returns "" if the reader accepts the file, otherwise its error message.
std::string complaint_of_reader(const std::string& reader, const std::filesystem::path& file,
                                const std::filesystem::path& ctrf_schema);

// Returns the CTRF schemas: the one in reports/schema, and the published one if it is available.
std::vector<std::filesystem::path> ctrf_schemas();

}  // namespace proctor::testing_support
