// Tests of BatchResults. The test itself writes the output and the result file of a GoogleTest program. Tests with real
// programs are in harness/e2e/gtest_shared.py.
#include "harness/runner/attempt/batch_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "harness/base/temp_dir.h"
#include "harness/frameworks/gtest.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNames[] = {"A", "B", "C"};
constexpr const char* kAllRan = "[==========] 3 tests from 1 test suite ran. (0 ms total)\n";

std::string begin_of(const std::string& name) { return "[ RUN      ] G." + name + "\n"; }
std::string end_of(const std::string& name) { return "[       OK ] G." + name + " (0 ms)\n"; }
std::string failed(const std::string& name) { return "[  FAILED  ] G." + name + " (0 ms)\n"; }

class BatchResultsTest : public testing::Test {
 protected:
  BatchResultsTest() {
    suite_.name = "s";
    suite_.kind = &gtest_kind();
    suite_.command = {"/bin/program"};
    plan_.suite = &suite_;
    for (std::size_t i = 0; i < 3; ++i) {
      tests_[i].id = std::string("s/G.") + kNames[i];
      plan_.cases.push_back({.test = &tests_[i]});
    }
    reset();
  }
  void reset() {
    tracker_.emplace(plan_, /*starting=*/false);
    results_.emplace(plan_, BatchResults::Listener{.on_begin = [this](std::size_t which) { begin(which); },
                                                   .on_end = [this] { tracker_->mark_reported({}); }});
    unlink(file_.c_str());
  }

  // Begins a case in the same way as RunningAttempt.
  void begin(std::size_t which) {
    if (tracker_->open()) results_->add({tracker_->set_aside({}), {}});
    tracker_->begin({.which = which});
  }
  void print(const std::string& text) { results_->add_output(text); }
  // Prints the output of three cases: G.A passes, G.B fails, G.C passes.
  void print_all() {
    print(begin_of("A") + end_of("A") + begin_of("B") + failed("B") + begin_of("C") + end_of("C") + kAllRan);
  }
  void write_file(const std::vector<std::string>& results = {"pass", "fail", "pass"}) {
    std::string tests;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == "none") continue;
      const std::string name = i < 3 ? kNames[i] : "D";
      tests += std::string(tests.empty() ? "" : ",") + R"({"status":"RUN","name":")" + name +
               R"(","result":")" + (results[i] == "skip" ? "SKIPPED" : "COMPLETED") + '"' +
               (results[i] == "fail" ? R"(,"failures":[{"failure":"why"}])" : "") + "}";
    }
    std::ofstream(file_) << R"({"testsuites":[{"name":"G","testsuite":[)" << tests << "]}]}";
  }

  // Ends the process. Returns why the program is refused, or "".
  std::string end(std::optional<int> code, EndCause cause = EndCause::kExited,
                  bool leaked_processes = false) {
    ProcessEnd end;
    end.cause = cause;
    end.exit_code = code;
    if (!code) end.exit_signal = 11;
    if (leaked_processes) end.termination.leaked_processes.push_back({.pid = 1, .command = "sleep"});
    results_->process_ended(end, *tracker_, file_);
    return results_->is_refused() ? results_->warning().text : "";
  }
  // Returns the cases that began, for example "A pass", "B fail unproven", "C none unproven".
  std::vector<std::string> cases() {
    std::vector<std::size_t> began;
    const auto before = results_->take_ran();
    const std::set<std::size_t> unproven = results_->unproven(before, *tracker_);
    for (const auto& ran : before) began.push_back(ran.open.which);
    if (tracker_->open()) began.push_back(tracker_->open()->which);
    std::vector<std::string> texts;
    for (const std::size_t which : began) {
      const auto result = results_->report_of(which).result();
      std::string text = std::string(kNames[which]) + " ";
      text += !result                         ? "none"
              : *result == ChildResult::kPass ? "pass"
              : *result == ChildResult::kSkip ? "skip"
                                              : "fail";
      texts.push_back(text + (unproven.contains(which) ? " unproven" : ""));
    }
    return texts;
  }

  TempDir directory_;
  const std::string file_ = (directory_.path() / "result.json").string();
  Suite suite_;
  Case tests_[3];
  AttemptPlan plan_;
  std::optional<CaseTracker> tracker_;
  std::optional<BatchResults> results_;
};

TEST_F(BatchResultsTest, ReadsResultsFromFile) {
  print_all();
  write_file();
  EXPECT_EQ(end(1), "");
  EXPECT_TRUE(results_->count());
  EXPECT_FALSE(results_->may_share_again());
  EXPECT_THAT(cases(), ElementsAre("A pass", "B fail", "C pass"));
}

TEST_F(BatchResultsTest, EndInsideCaseMakesEarlierResultsUnproven) {
  struct Row {
    std::optional<int> code;
    EndCause cause;
  };
  for (const Row& row :
       {Row{{}, EndCause::kExited}, Row{0, EndCause::kExited}, Row{{}, EndCause::kTimeout}}) {
    reset();
    print(begin_of("A") + failed("A") + begin_of("B"));
    EXPECT_EQ(end(row.code, row.cause), "");
    EXPECT_FALSE(results_->count());
    EXPECT_TRUE(results_->may_share_again());
    EXPECT_THAT(cases(), ElementsAre("A none unproven", "B none"));
  }
}

TEST_F(BatchResultsTest, EndBetweenCasesMakesAllResultsUnproven) {
  for (const std::optional<int> code : {std::optional<int>(), std::optional(0)}) {
    reset();
    print(begin_of("A") + end_of("A") + begin_of("B") + end_of("B"));
    EXPECT_EQ(end(code), "");
    EXPECT_TRUE(results_->may_share_again());
    EXPECT_THAT(cases(), ElementsAre("A none unproven", "B none unproven"));
  }
}

TEST_F(BatchResultsTest, IgnoresFileOfProcessWithoutExit) {
  print(begin_of("A") + end_of("A") + begin_of("B"));
  write_file({"pass", "pass", "pass"});
  EXPECT_EQ(end({}), "");
  EXPECT_THAT(cases(), ElementsAre("A none unproven", "B none"));
  reset();
  print_all();
  write_file();
  EXPECT_THAT(end({}), HasSubstr("did not exit after its last case"));
  EXPECT_THAT(cases(), ElementsAre("A none unproven", "B none unproven", "C none unproven"));
}

TEST_F(BatchResultsTest, RejectsContradictingFileAndOutput) {
  const std::string begins = begin_of("A") + end_of("A") + begin_of("B") + end_of("B");
  const std::string all = begins + begin_of("C") + end_of("C") + kAllRan;
  struct Row {
    std::string printed;
    std::vector<std::string> file;
    int code;
    const char* why;
  };
  const std::vector<std::string> good = {"pass", "pass", "pass"};
  const Row rows[] = {
      {"", good, 0, "printed no line that shows which case runs"},
      {kAllRan, good, 0, "wrote a result of G.A, but printed no line for its begin"},
      {begins, good, 0, "wrote results before it printed that it had run all cases"},
      {begins + kAllRan, good, 0, "wrote a result of G.C, but printed no line for its begin"},
      {all, {}, 0, "ran 0 of the 3 requested cases"},
      {all, {"pass", "pass", "none"}, 0, "ran 2 of the 3 requested cases"},
      {all, {"pass", "pass", "pass", "pass"}, 0, "ran G.D, which was not requested"},
      {all, good, 1, "exited with 1, which none of its cases explains"},
      {all, {"pass", "fail", "pass"}, 9, "exited with 9, which none of its cases explains"},
      {begin_of("A") + end_of("A") + begin_of("A") + begins, good, 0, "printed two begins of G.A"},
      {all + kAllRan, good, 0, "printed twice that it had run all cases"},
      {begin_of("A") + end_of("A") + kAllRan + begin_of("B"), good, 0,
       "printed the begin of G.B after the end of all cases"},
      {failed("A") + all, good, 0, "printed that G.A failed, and wrote that it passed"},
  };
  for (const Row& row : rows) {
    reset();
    print(row.printed);
    if (!row.file.empty()) write_file(row.file);
    const std::string why = row.file.empty() ? "left no result file that can be read" : row.why;
    EXPECT_THAT(end(row.code), HasSubstr("because its program " + why)) << row.printed;
    EXPECT_FALSE(results_->count()) << row.why;
    EXPECT_FALSE(results_->may_share_again()) << row.why;
    for (const std::string& text : cases()) EXPECT_THAT(text, HasSubstr(" none unproven")) << row.why;
  }
}

TEST_F(BatchResultsTest, LeakedProcessesMakeOutputUnreliable) {
  print(begin_of("A") + end_of("A") + begin_of("B"));
  EXPECT_THAT(end(0, EndCause::kExited, /*leaked_processes=*/true), HasSubstr("left processes"));
}

TEST_F(BatchResultsTest, IgnoresLinesOfOtherCases) {
  print(begin_of("A") + begin_of("Other") + end_of("Other") + kAllRan + end_of("A") + begin_of("B") +
        failed("B") + begin_of("C") + end_of("C") + kAllRan);
  write_file();
  EXPECT_EQ(end(1), "");
  EXPECT_THAT(cases(), ElementsAre("A pass", "B fail", "C pass"));
}

TEST_F(BatchResultsTest, FailureOutsideCasesMakesPassesUnproven) {
  print("f.cc:1: Failure\n");
  print_all();
  write_file({"pass", "fail", "skip"});
  EXPECT_EQ(end(1), "");
  EXPECT_TRUE(results_->count());
  EXPECT_THAT(cases(), ElementsAre("A pass unproven", "B fail", "C skip unproven"));
}

TEST_F(BatchResultsTest, EnvironmentSkipCountsForAllCases) {
  print(std::string("f.cc:1: Skipped\nno card\n") + kAllRan);
  write_file({"skip", "skip", "skip"});
  EXPECT_EQ(end(0), "");
  EXPECT_THAT(cases(), ElementsAre("A skip", "B skip", "C skip")) << "they begin when it has ended";
}

TEST_F(BatchResultsTest, StoppedProcessHasNoResults) {
  print_all();
  write_file();
  EXPECT_EQ(end({}, EndCause::kStopped), "");
  EXPECT_FALSE(results_->count());
  EXPECT_THAT(cases(), ElementsAre("A none unproven", "B none unproven", "C none unproven"));
}

}  // namespace
}  // namespace proctor
