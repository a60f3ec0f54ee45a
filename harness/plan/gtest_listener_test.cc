// Tests the events that the GoogleTest listener (gtest/proctor_gtest_listener.cc) writes in a real program
// (testdata/listener_gtest.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "harness/base/json.h"
#include "harness/frameworks/gtest.h"
#include "harness/journal/child_protocol.h"
#include "harness/plan/test_support.h"

namespace proctor {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::listener_gtest;
using testing_support::run_listing;
using testing_support::ScratchDirectory;

// The events of one case.
struct Reported {
  std::vector<std::string> failures;  // messages, without GoogleTest's own text
  std::string skipped;
  std::string result;
};

class GtestListenerTest : public testing::Test {
 protected:
  // Returns all events of a run with `filter`. Each must be one line of JSON within the length limit.
  std::vector<json> events(const std::string& filter, const std::string& surroundings = "") {
    const auto out = run_listing({.argv = {listener_gtest(), "--gtest_filter=" + filter, "--gtest_brief=1"},
                                  .env = {{"SURROUNDINGS", surroundings}},
                                  .directory = scratch_.path()});
    EXPECT_TRUE(out);
    std::vector<json> events;
    if (!out) return events;
    EXPECT_FALSE(out->exit_signal) << out->stderr_tail;
    EXPECT_TRUE(announces_gtest_listener(out->event_lines));
    for (const auto& line : out->event_lines) {
      EXPECT_LT(line.size(), child::kMaxEventBytes);
      events.push_back(json::parse(line, nullptr, false));
      EXPECT_TRUE(events.back().is_object()) << line;
      EXPECT_EQ(events.back().value("v", 0), child::kProtocolVersion);
    }
    return events;
  }
  // Returns the events by case. It also checks their order: start, failures or skip, end, and then the next
  // case.
  std::map<std::string, Reported> reported(const std::string& filter, const std::string& surroundings = "") {
    std::map<std::string, Reported> cases;
    std::string open;
    for (const auto& event : events(filter, surroundings)) {
      const auto type = event.value("event", "");
      if (type == "listener") continue;
      const auto name = event.value("case", "");
      if (type == "start") {
        EXPECT_EQ(open, "") << "has not ended when " << name << " began";
        EXPECT_TRUE(cases.emplace(name, Reported()).second) << name << " began twice";
        EXPECT_GT(event.value("t_ns", std::int64_t(0)), 0);
        open = name;
      }
      EXPECT_EQ(name, open);
      if (type == "fail") cases[name].failures.push_back(event.value("message", ""));
      if (type == "skip") cases[name].skipped = event.value("reason", "");
      if (type != "end") continue;
      cases[name].result = event.value("result", "");
      open.clear();
    }
    EXPECT_EQ(open, "") << "has not ended";
    return cases;
  }

  ScratchDirectory scratch_;
};

TEST_F(GtestListenerTest, ListingWritesOnlyAnnouncement) {
  const auto out =
      run_listing({.argv = {listener_gtest(), "--gtest_list_tests"}, .directory = scratch_.path()});
  ASSERT_TRUE(out);
  EXPECT_THAT(out->event_lines, ElementsAre(R"({"v":1,"event":"listener","name":"gtest"})"));
}

TEST_F(GtestListenerTest, IsSilentWithoutADescriptor) {
  for (const char* fd : {"", "77", "-1", "3x", "99999999999"}) {
    const auto out = run_listing({.argv = {listener_gtest(), "--gtest_filter=Plain.Passes"},
                                  .env = {{"PROCTOR_EVENTS_FD", fd}},
                                  .directory = scratch_.path()});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->exit_code, 0) << fd;
    EXPECT_THAT(out->event_lines, IsEmpty()) << fd;
  }
}

TEST_F(GtestListenerTest, ReportsResultOfEachCase) {
  const auto cases = reported("Plain.Passes:Plain.Skips:Plain.FailsTwice:Of/*");
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ(cases.at("Plain.Passes").result, "pass");
  EXPECT_EQ(cases.at("Of/Named.Holds/1").result, "pass");
  EXPECT_EQ(cases.at("Plain.Skips").result, "skip");
  EXPECT_EQ(cases.at("Plain.Skips").skipped, "no \"card\"");
  const Reported& failed = cases.at("Plain.FailsTwice");
  EXPECT_EQ(failed.result, "fail");
  EXPECT_THAT(failed.failures, ElementsAre(HasSubstr("first"), HasSubstr("second")));
}

TEST_F(GtestListenerTest, FailureHasFileAndLine) {
  int failures = 0;
  for (const auto& event : events("Plain.FailsTwice")) {
    if (event.value("event", "") != "fail") continue;
    ++failures;
    EXPECT_THAT(event.value("file", ""), HasSubstr("listener_gtest.cc"));
    EXPECT_GT(event.value("line", 0), 10);
  }
  EXPECT_EQ(failures, 2);
}

// All bytes are escaped readably, and every line stays valid JSON.
TEST_F(GtestListenerTest, AnyBytesAreEscaped) {
  const auto cases = reported("Plain.SaysAnyBytes");
  const auto& failures = cases.at("Plain.SaysAnyBytes").failures;
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("quote\" back\\ tab\t nul"));
  EXPECT_THAT(failures[0], HasSubstr(" \x7f caf\xc3\xa9 \xf0\x9f\x98\x80 bad \\xff \\xc3( \\xed\\xa0\\x80 "
                                     "\\xc0\\xaf \\xf5 \\xe2\\x82"));
}

TEST_F(GtestListenerTest, LimitsMessageLengthAndCount) {
  const auto cases = reported("Plain.SaysMuch:Plain.FailsOften");
  EXPECT_GT(cases.at("Plain.SaysMuch").failures.at(0).size(), 1000u);
  EXPECT_EQ(cases.at("Plain.FailsOften").failures.size(), 1000u);
  EXPECT_EQ(cases.at("Plain.FailsOften").result, "fail");
}

TEST_F(GtestListenerTest, OnlyOriginalProcessWritesEvents) {
  const auto cases = reported("Death.*");
  ASSERT_EQ(cases.size(), 4u);
  for (const auto& [name, said] : cases) EXPECT_EQ(said.result, "pass") << name;
  EXPECT_THAT(reported("Plain.FailsInAThread").at("Plain.FailsInAThread").failures,
              ElementsAre(HasSubstr("in a thread")));
}

TEST_F(GtestListenerTest, SetupAndTeardownFailuresBelongToTests) {
  const auto cases = reported("SetUpFails.*:TearDownFails.*:Zuletzt.*");
  for (const char* name : {"SetUpFails.One", "SetUpFails.Two"}) {
    EXPECT_EQ(cases.at(name).result, "fail");
    EXPECT_THAT(cases.at(name).failures, ElementsAre(HasSubstr("no set-up")));
  }
  EXPECT_EQ(cases.at("TearDownFails.One").result, "pass");
  EXPECT_EQ(cases.at("TearDownFails.Two").result, "fail");
  EXPECT_THAT(cases.at("TearDownFails.Two").failures, ElementsAre(HasSubstr("no teardown")));
  EXPECT_EQ(cases.at("Zuletzt.Passes").result, "pass");
}

TEST_F(GtestListenerTest, EnvironmentFailuresBelongToCases) {
  const std::string both = "Plain.Passes:Zuletzt.Passes";
  for (const char* how : {"fatal", "nonfatal"}) {
    const auto cases = reported(both, how);
    ASSERT_EQ(cases.size(), 2u) << how;
    for (const auto& [name, said] : cases) {
      EXPECT_EQ(said.result, "fail") << how << ' ' << name;
      EXPECT_THAT(said.failures, ElementsAre(HasSubstr("surroundings"))) << how << ' ' << name;
    }
  }
  const auto torn_down = reported(both, "teardown");
  EXPECT_EQ(torn_down.at("Plain.Passes").result, "pass");
  EXPECT_EQ(torn_down.at("Zuletzt.Passes").result, "fail") << "the last case answers for the end";
  for (const auto& [name, said] : reported(both, "skip")) {
    EXPECT_EQ(said.result, "skip") << name;
    EXPECT_EQ(said.skipped, "nothing can run here");
  }
  EXPECT_EQ(reported(both, "skip").size(), 2u);
}

}  // namespace
}  // namespace proctor
