#include "reports/gate/plan_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/digest.h"
#include "harness/base/json.h"
#include "harness/base/named_file.h"

namespace proctor {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json small_plan() {
  return {{"format", "proctor-plan"},
          {"version", kPlanFileVersion},
          {"plan_digest", "p"},
          {"run", {{"max_machine_failures", nullptr}, {"digest", "of a run"}, {"id", "none"}}},
          {"suites",
           {{{"name", "a \"b\""}, {"backend", "xpu"}, {"env", {{"name", "x"}, {"E", "{[\\\"\n\x01 ü"}}}},
            {{"name", "c"}, {"backend", "none"}, {"command", {"name", "[", "}"}}}}},
          {"cases",
           {{{"id", "c/2"}, {"suite", 1}, {"policy", {{"id", "inner"}, {"suite", 7}}}},
            {{"id", "a/\u00e9\\\" 1"}, {"suite", 0}, {"needs", "x : y , z"}},
            {{"id", "c/1"}, {"suite", 1}, {"sizes", {1, -2, 3}}}}}};
}

std::string plan_file(json content, int indent = 1) {
  content["digest"] = sha256_hex(content.dump());
  return content.dump(indent);
}

std::string complaint_about(const std::string& text) {
  const auto read = parse_gate_plan(text, "p.json");
  return read ? "" : read.error().what;
}

TEST(GatePlan, ParsesCaseIdsAndDigest) {
  const auto read = parse_gate_plan(plan_file(small_plan()), "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->digest, sha256_hex(small_plan().dump()));
  EXPECT_EQ(read->plan_digest, "p");
  ASSERT_EQ(read->cases.size(), 2u);
  EXPECT_THAT(read->cases.at({"c", "none"}), ElementsAre("c/1", "c/2"));
  EXPECT_THAT(read->cases.at({"a \"b\"", "xpu"}), ElementsAre("a/\u00e9\\\" 1"));
}

// Otherwise a plan with one point would count like a plan with all points.
TEST(GatePlan, RejectsPlanOfOnePoint) {
  json narrow = small_plan();
  narrow["point"] = "bytes=0,type=\"i8\"";
  EXPECT_THAT(
      complaint_about(plan_file(narrow)),
      HasSubstr(
          "p.json: it was written with --suite-arg point=bytes=0,type=\"i8\", and runs each check with"));
  narrow["point"] = "";
  EXPECT_EQ(complaint_about(plan_file(narrow)), "");
}

TEST(GatePlan, ParsesSizeAndSeed) {
  json plan = small_plan();
  plan["size"] = "smoke";
  plan["seed"] = 18446744073709551615u;
  const auto read = parse_gate_plan(plan_file(plan), "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->size, "smoke");
  EXPECT_EQ(read->seed, "18446744073709551615");
  plan["seed"] = 0;
  EXPECT_EQ(parse_gate_plan(plan_file(plan), "p.json")->seed, "");
}

TEST(GatePlan, IgnoresWhitespaceBetweenTokens) {
  for (const int indent : {-1, 0, 1, 4}) EXPECT_EQ(complaint_about(plan_file(small_plan(), indent)), "");
  EXPECT_EQ(complaint_about(" \n\t" + plan_file(small_plan()) + "\r\n"), "");
}

TEST(GatePlan, RejectsAnyOtherChange) {
  const std::string text = plan_file(small_plan());
  int refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'q' ? 'r' : 'q';
    const bool between = text[at] == ' ' || text[at] == '\n';
    const bool same = between && complaint_about(changed).empty();
    EXPECT_FALSE(same) << at;
    refused += complaint_about(changed).empty() ? 0 : 1;
    EXPECT_NE(complaint_about(text.substr(0, at)), "") << at;
  }
  EXPECT_EQ(refused, static_cast<int>(text.size()));
}

TEST(GatePlan, RejectsInvalidAndNewerPlans) {
  for (const char* text :
       {"", "{}", "[]", "x", "\"", "{\"digest\":", "}", "[[[[", "\"proctor-plan\"", "{\"digest\":\"a\"}"})
    EXPECT_THAT(complaint_about(text), HasSubstr("p.json: it is not a Proctor plan")) << text;
  json newer = small_plan();
  newer["version"] = 99;
  EXPECT_THAT(complaint_about(plan_file(newer)), HasSubstr("its format is version 99"));
  json strange = small_plan();
  strange["cases"][0]["suite"] = 9;
  EXPECT_THAT(complaint_about(plan_file(strange)), HasSubstr("its case c/2 belongs to no suite"));
}

}  // namespace
}  // namespace proctor
