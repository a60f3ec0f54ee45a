// report.json only grows: what a released version of its schema promises its readers holds for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/json.h"
#include "harness/core/outside_program.h"
#include "harness/testing/child.h"
#include "reports/formats/report_json.h"
#include "reports/model/test_journal.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kSchema = "reports/schema/report.schema.json";

// What the schema `now` breaks of what `before` promises; "" when nothing.
std::string broken(const fs::path& before, const fs::path& now) {
  const Ended done = run_child(
      {"/usr/bin/python3", "-B", our_schema("compatible.py").string(), before.string(), now.string()});
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.exit_code, done.out.empty() ? 0 : 1);
  return done.out;
}

fs::path source(const std::string& file) { return fs::path(PROCTOR_SOURCE_DIR) / file; }

TEST(ReportSchema, KeepsWhatEachReleasedVersionPromised) {
  int released = 0;
  for (int version = 1; version <= kReportSchemaVersion; ++version) {
    const fs::path before =
        source("reports/schema/released/report." + std::to_string(version) + ".schema.json");
    ASSERT_TRUE(fs::exists(before)) << before << " is missing: who raises kReportSchemaVersion puts it there";
    EXPECT_EQ(broken(before, source(kSchema)), "") << before;
    ++released;
  }
  EXPECT_EQ(released, kReportSchemaVersion);
}

TEST(ReportSchema, KeepsWhatThePreviousCommitPromised) {
  TempDir directory;
  for (const std::string commit : {"HEAD", "HEAD~1"}) {
    const auto shown = run_outside_program(
        {.argv = {"git", "-C", PROCTOR_SOURCE_DIR, "show", commit + ":" + kSchema}, .package = "git"});
    if (!shown || shown->exit_code != 0) GTEST_SKIP() << "no checkout of git with a commit before this one";
    write_file(directory.path() / "before.json", shown->output);
    EXPECT_EQ(broken(directory.path() / "before.json", source(kSchema)), "") << commit;
  }
}

// The judge must be able to fail, or the tests above mean nothing.
TEST(ReportSchema, APromiseThatIsBrokenIsNamed) {
  TempDir directory;
  const json schema = json::parse(read_file_or_empty(source(kSchema).string()));
  const auto complaint = [&](const std::function<void(json&)>& change) {
    json changed = schema;
    change(changed);
    write_file(directory.path() / "changed.json", changed.dump());
    return broken(source(kSchema), directory.path() / "changed.json");
  };
  const auto at = [](json& node, const char* pointer) -> json& { return node[json::json_pointer(pointer)]; };
  EXPECT_EQ(complaint([](json&) {}), "");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/properties/run/properties/new") = {{"type", "string"}}; }), "");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/required").push_back("health"); }), "");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/required").erase(0); }), "/schema_version: it was required\n");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/properties/run/properties").erase("id"); }),
            "/run/id: it is gone\n");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/definitions/case/properties/duration_ms/type") = "string"; }),
            "/cases[]/duration_ms: it may be string now\n");
  EXPECT_THAT(complaint([&](json& s) { at(s, "/definitions/outcome/enum").push_back("exploded"); }),
              HasSubstr("it may be \"exploded\" now"));
  EXPECT_EQ(complaint([&](json& s) {
              at(s, "/properties/summary/properties/lost") = {{"type", "integer"}};
            }),
            "/summary/lost: it is new, in an object that was closed\n");
  EXPECT_EQ(complaint([&](json& s) { at(s, "/properties/schema_version/const") = 2; }),
            "/schema_version: it may be 2 now\n");
  EXPECT_THAT(complaint([&](json& s) {
                at(s, "/properties/run/properties/sim/oneOf").push_back({{"type", "string"}});
              }),
              HasSubstr("/run/sim: alternative 3 is new"));
  EXPECT_EQ(complaint([&](json& s) {
              at(s, "/properties/run/properties/stack/additionalProperties/type") = "number";
            }),
            "/run/stack/*: it may be integer, number now\n");
}

}  // namespace
}  // namespace proctor
