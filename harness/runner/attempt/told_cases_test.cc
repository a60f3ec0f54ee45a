// What a GoogleTest program says over its connection, played by the test itself; the real ones are in
// harness/e2e/gtest_stream.py.
#include "harness/runner/attempt/told_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/base/unique_fd.h"
#include "harness/frameworks/gtest.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBeginProgram =
    "gtest_streaming_protocol_version=1.0\nevent=TestProgramStart\nevent=TestIterationStart&iteration=0\n"
    "event=TestCaseStart&name=G\n";
constexpr const char* kEndProgram =
    "event=TestCaseEnd&passed=1\nevent=TestIterationEnd&passed=1\nevent=TestProgramEnd&passed=1\n";

class ToldCasesTest : public testing::Test {
 protected:
  ToldCasesTest() {
    suite_.name = "s";
    suite_.kind = &gtest_kind();
    suite_.command = {"/bin/program"};
    plan_.suite = &suite_;
    for (std::size_t i = 0; i < 3; ++i) {
      tests_[i].id = std::string("s/G.") + kNames[i];
      plan_.cases.push_back({.test = &tests_[i]});
    }
    tracker_.emplace(plan_, /*starting=*/false);
    told_.emplace(io_, plan_,
                  ToldCases::Listener{.on_event = [this](std::string_view event) { take(event); },
                                      .on_doubt = [this] { ++doubts_; }});
    told_->begin([](std::uint64_t) { return true; });
  }

  // As RunningAttempt does.
  void take(std::string_view event) {
    if (const auto which = tracker_->begun_by(event)) {
      if (tracker_->open()) conclude();
      tracker_->listen_to(*which);
      tracker_->begin({.which = *which});
    }
    tracker_->add_line(event, {});
  }
  void conclude() {
    const std::size_t which = tracker_->open()->which;
    AttemptEnded ended;
    ended.verdict = gtest_kind().judge({.child = tracker_->child(), .went_on = true});
    tracker_->close(ended.verdict.outcome);
    if (!told_->keeps(which, ended)) ends_.push_back(text_of_end(which, ended));
  }
  static std::string text_of_end(std::size_t which, const AttemptEnded& ended) {
    return std::string(kNames[which]) + " " + to_string(ended.verdict);
  }

  void connect() {
    client_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string port = told_->address().substr(std::string("127.0.0.1:").size());
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    ASSERT_EQ(::connect(client_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void say(const std::string& text) {
    if (!client_) connect();
    ASSERT_EQ(write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    io_.restart();
    while (io_.poll() > 0) {
    }
  }
  void say_test(const std::string& name, bool passed) {
    say("event=TestStart&name=" + name + "\n" +
        (passed ? "" : "event=TestPartResult&file=&line=-1&message=why\n") +
        "event=TestEnd&passed=" + (passed ? "1" : "0") + "&elapsed_time=0ms\n");
  }
  // G.A passes, G.B does not, G.C passes.
  void say_all() {
    say(kBeginProgram);
    say_test("A", true);
    say_test("B", false);
    say_test("C", true);
    say(kEndProgram);
  }
  void write_file(const std::string& a, const std::string& b, const std::string& c) {
    const auto test = [](const char* name, const std::string& result) {
      const bool failed = result == "FAILED";
      return std::string(R"({"status":"RUN","name":")") + name + R"(","result":")" +
             (failed ? "COMPLETED" : result) + '"' + (failed ? R"(,"failures":[{"failure":"why"}])" : "") +
             "}";
    };
    std::ofstream(file_) << R"({"testsuites":[{"name":"G","testsuite":[)" << test("A", a) << ','
                         << test("B", b) << ',' << test("C", c) << "]}]}";
  }
  // Ends the process, and returns why nothing counts.
  std::string end(std::optional<int> code = 0, std::optional<int> signal = {}) {
    ProcessEnd end;
    end.exit_code = code;
    end.exit_signal = signal;
    told_->process_ended(end, *tracker_, file_);
    told_->settle(end, *tracker_, [this](std::size_t which, const AttemptEnded& ended) {
      ends_.push_back(text_of_end(which, ended));
    });
    const auto warnings = told_->warnings();
    return told_->is_doubted() && !warnings.empty() ? warnings.front().text : "";
  }

  static constexpr const char* kNames[] = {"A", "B", "C"};
  TempDir directory_;
  std::string file_ = directory_.string() + "/result.json";
  boost::asio::io_context io_;
  Suite suite_;
  Case tests_[3];
  AttemptPlan plan_;
  std::optional<CaseTracker> tracker_;
  std::optional<ToldCases> told_;
  UniqueFd client_;
  std::vector<std::string> ends_;
  int doubts_ = 0;
};

TEST_F(ToldCasesTest, WhatDidNotPassIsSettledByTheFile) {
  say_all();
  EXPECT_THAT(ends_, ElementsAre("A pass"));
  write_file("COMPLETED", "SKIPPED", "COMPLETED");
  EXPECT_EQ(end(), "");
  EXPECT_THAT(ends_, ElementsAre("A pass", "B skip(why)"));
  EXPECT_THAT(told_->unproven(), IsEmpty());
  ASSERT_NE(told_->last_case(*tracker_), nullptr);
  EXPECT_EQ(told_->last_case(*tracker_)->result(), ChildResult::kPass);
}

TEST_F(ToldCasesTest, AFailureIsOne) {
  say_all();
  write_file("COMPLETED", "FAILED", "COMPLETED");
  EXPECT_EQ(end(1), "");
  EXPECT_THAT(ends_, ElementsAre("A pass", "B fail"));
  EXPECT_THAT(told_->unproven(), IsEmpty());
}

TEST_F(ToldCasesTest, AfterACrashNobodyKnowsWhetherItWasASkip) {
  say(kBeginProgram);
  say_test("A", true);
  say_test("B", false);
  say("event=TestStart&name=C\n");
  EXPECT_EQ(end(std::nullopt, 11), "");
  EXPECT_THAT(ends_, ElementsAre("A pass", "B fail"));
  EXPECT_THAT(told_->unproven(), ElementsAre(1u)) << "it runs again alone";
  EXPECT_TRUE(told_->failures_count());
  EXPECT_EQ(tracker_->blamed().test->id, "s/G.C");
  EXPECT_EQ(told_->last_case(*tracker_), nullptr);
}

TEST_F(ToldCasesTest, AFileThatSaysSomethingElseIsDoubted) {
  say_all();
  write_file("FAILED", "FAILED", "COMPLETED");
  EXPECT_THAT(end(1), HasSubstr("wrote another result of G.A to its result file"));
  EXPECT_THAT(told_->unproven(), ElementsAre(0u, 1u, 2u));
  EXPECT_FALSE(told_->failures_count()) << "another process may have told of them";
}

TEST_F(ToldCasesTest, SoIsOneOfTheLastCase) {
  say_all();
  write_file("COMPLETED", "FAILED", "SKIPPED");
  EXPECT_THAT(end(1), HasSubstr("wrote another result of G.C"));
}

TEST_F(ToldCasesTest, SoIsAMissingFile) {
  say_all();
  EXPECT_THAT(end(1), HasSubstr("left no result file"));
}

TEST_F(ToldCasesTest, SoIsACodeThatNothingExplains) {
  say_all();
  write_file("COMPLETED", "SKIPPED", "COMPLETED");
  EXPECT_THAT(end(1), HasSubstr("exited with 1, which none of its cases explains"));
  EXPECT_TRUE(told_->failures_count());
}

TEST_F(ToldCasesTest, SoIsAnEndBetweenTwoCases) {
  say(kBeginProgram);
  say_test("A", true);
  EXPECT_THAT(end(), HasSubstr("ended without saying that it was at its end"));
  EXPECT_THAT(told_->unproven(), ElementsAre(0u));
}

TEST_F(ToldCasesTest, SoIsACrashAfterItsEnd) {
  say_all();
  write_file("COMPLETED", "FAILED", "COMPLETED");
  EXPECT_THAT(end(std::nullopt, 11), HasSubstr("did not exit after it had said that it was at its end"));
  EXPECT_EQ(told_->unproven().size(), 3u);
}

TEST_F(ToldCasesTest, AnExitInMidCaseIsThatOfTheCase) {
  say(kBeginProgram);
  say_test("A", true);
  say("event=TestStart&name=B\n");
  EXPECT_EQ(end(0), "");
  EXPECT_THAT(told_->unproven(), IsEmpty());
  EXPECT_EQ(tracker_->blamed().test->id, "s/G.B");
}

TEST_F(ToldCasesTest, ACaseThatWasNotAskedForIsDoubtedAtOnce) {
  say(kBeginProgram);
  say_test("A", true);
  say_test("Other", true);
  EXPECT_EQ(doubts_, 1);
  say_test("B", true);
  EXPECT_THAT(end(), HasSubstr("told of G.Other, which it was not asked for"));
  EXPECT_FALSE(told_->failures_count());
  EXPECT_THAT(told_->unproven(), ElementsAre(0u));
}

TEST_F(ToldCasesTest, ACaseThatDidNotRunIsDoubted) {
  say(kBeginProgram);
  say_test("A", true);
  say(kEndProgram);
  std::ofstream(file_) << R"({"testsuites":[{"name":"G","testsuite":[{"name":"A","status":"RUN"}]}]})";
  EXPECT_THAT(end(), HasSubstr("ran 1 of the 3 cases"));
}

TEST_F(ToldCasesTest, WhoDoesNotConnectIsDoubted) {
  write_file("COMPLETED", "COMPLETED", "COMPLETED");
  EXPECT_THAT(end(), HasSubstr("did not tell of its cases over a connection"));
  EXPECT_TRUE(tracker_->none_began());
}

TEST_F(ToldCasesTest, AQuickOneIsBelievedAsFarAsItsFile) {
  client_.reset();
  connect();
  for (const std::string& text :
       {std::string(kBeginProgram), std::string("event=TestStart&name=A\nevent=TestEnd&passed=1\n"),
        std::string("event=TestStart&name=B\nevent=TestEnd&passed=1\n"),
        std::string("event=TestStart&name=C\nevent=TestEnd&passed=0\n"), std::string(kEndProgram)})
    ASSERT_EQ(write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  client_.reset();
  write_file("COMPLETED", "SKIPPED", "COMPLETED");
  EXPECT_EQ(end(), "");
  EXPECT_THAT(ends_, ElementsAre("A pass", "B skip(framework)")) << "and C is the last";
  EXPECT_THAT(tracker_->not_begun(), IsEmpty());
  EXPECT_THAT(told_->unproven(), IsEmpty());
}

TEST_F(ToldCasesTest, AQuickOneWithoutAFileProvesNoPass) {
  connect();
  const std::string text =
      std::string(kBeginProgram) + "event=TestStart&name=A\nevent=TestEnd&passed=1\nevent=TestStart&name=B\n";
  ASSERT_EQ(write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  client_.reset();
  EXPECT_EQ(end(std::nullopt, 11), "");
  EXPECT_THAT(ends_, ElementsAre("A pass"));
  EXPECT_THAT(told_->unproven(), ElementsAre(0)) << "G.A runs again";
  EXPECT_EQ(tracker_->blamed().test->id, "s/G.B");
  EXPECT_EQ(tracker_->not_begun(), (std::vector<std::size_t>{2}));
}

TEST_F(ToldCasesTest, AQuickOneThatEndsBetweenTwoCasesIsDoubted) {
  connect();
  const std::string text = std::string(kBeginProgram) + "event=TestStart&name=A\nevent=TestEnd&passed=1\n";
  ASSERT_EQ(write(client_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  client_.reset();
  EXPECT_THAT(end(), HasSubstr("ended without saying that it was at its end"));
}

TEST_F(ToldCasesTest, WhereItsSurroundingsLetNoCaseBeginTheFileTells) {
  say("gtest_streaming_protocol_version=1.0\nevent=TestProgramStart\nevent=TestIterationStart&iteration=0\n");
  say("event=TestPartResult&file=&line=-1&message=no card\n");
  say("event=TestIterationEnd&passed=1\nevent=TestProgramEnd&passed=1\n");
  write_file("SKIPPED", "SKIPPED", "SKIPPED");
  EXPECT_EQ(end(), "");
  EXPECT_THAT(ends_, ElementsAre("A skip(no card)", "B skip(no card)")) << "and C is the last";
  EXPECT_THAT(told_->unproven(), IsEmpty());
}

TEST_F(ToldCasesTest, WhatIsToldBetweenTwoTestsLeavesTheirGroupUnproven) {
  say(kBeginProgram);
  say("event=TestPartResult&file=&line=-1&message=set up\n");
  say_test("A", true);
  say_test("B", false);
  say_test("C", true);
  say(kEndProgram);
  write_file("COMPLETED", "FAILED", "COMPLETED");
  EXPECT_EQ(end(1), "");
  EXPECT_THAT(told_->unproven(), ElementsAre(0u, 1u, 2u));
}

}  // namespace
}  // namespace proctor
