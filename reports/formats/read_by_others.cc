#include "reports/formats/read_by_others.h"

#include <gtest/gtest.h>

#include "harness/base/words.h"
#include "harness/testing/child.h"
#include "reports/resolve/test_journal.h"

namespace proctor::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr int kMissing = 77;

Ended read_by(const std::string& reader, const std::vector<fs::path>& files, const fs::path& ctrf_schema) {
  const std::string source = PROCTOR_SOURCE_DIR;
  std::vector<std::string> command = {
      "/usr/bin/python3", "-W", "ignore", "-B", source + "/reports/readers/count.py", reader};
  for (const fs::path& file : files) command.push_back(file.string());
  return run_child(command, {.env = {"PYTHONPATH=" + source + "/build/report-readers",
                                     "CTRF_SCHEMA=" + ctrf_schema.string()}});
}

}  // namespace

std::optional<std::vector<nlohmann::json>> counts(const std::string& reader,
                                                  const std::vector<fs::path>& files,
                                                  const fs::path& ctrf_schema) {
  const Ended done = read_by(reader, files, ctrf_schema);
  if (done.exit_code == kMissing) return std::nullopt;
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  std::vector<nlohmann::json> found;
  for (const std::string_view line : lines_of(done.out)) found.push_back(nlohmann::json::parse(line));
  EXPECT_EQ(found.size(), files.size());
  return found;
}

std::string complaint_of_reader(const std::string& reader, const fs::path& file,
                                const fs::path& ctrf_schema) {
  const Ended done = read_by(reader, {file}, ctrf_schema);
  return done.exit_code == 0 ? "" : done.out + done.err;
}

std::vector<fs::path> ctrf_schemas() {
  std::vector<fs::path> schemas = {our_schema("ctrf.schema.json")};
  if (fs::exists(published_schemas())) schemas.push_back(published_schemas() / "ctrf.schema.json");
  return schemas;
}

}  // namespace proctor::testing_support
