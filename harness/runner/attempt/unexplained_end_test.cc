#include "harness/runner/attempt/unexplained_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/catch2.h"
#include "harness/frameworks/doctest.h"
#include "harness/frameworks/kind.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A process with the cases a and b, both of which began.
class UnexplainedEndTest : public testing::Test {
 protected:
  UnexplainedEndTest() {
    suite_.name = "s";
    suite_.kind = &catch2_kind();
    tests_[0].id = "s/a";
    tests_[1].id = "s/b";
    tests_[0].name = "a";
    tests_[1].name = "b";
    plan_.suite = &suite_;
    plan_.cases = {{.test = &tests_[0]}, {.test = &tests_[1]}};
    end_.exit_code = 0;
  }

  // Returns the result of unexplained_end(). `a` and `b` are the results of the cases; "" if the process ended in the
  // case.
  std::string why(const std::string& a, const std::string& b) {
    CaseTracker cases(plan_, /*starting=*/false);
    for (const std::size_t which : {0u, 1u}) {
      cases.listen_to(which);
      cases.begin({.which = which});
      const std::string name = plan_.kind().name_for_child(*plan_.cases[which].test);
      cases.add_line(event_line("start", {{"case", name}}), {});
      const std::string& result = which == 0 ? a : b;
      if (!result.empty()) cases.add_line(event_line("end", {{"case", name}, {"result", result}}), {});
      if (which == 0) cases.close(a == "fail" ? Outcome::kFail : Outcome::kPass);
    }
    return unexplained_end(end_, plan_, cases);
  }
  std::string exits(int code, const std::string& a, const std::string& b) {
    end_ = {};
    end_.exit_code = code;
    return why(a, b);
  }

  Suite suite_;
  Case tests_[2];
  AttemptPlan plan_;
  ProcessEnd end_;
};

TEST_F(UnexplainedEndTest, FailedCaseExplainsExitCode) {
  EXPECT_THAT(exits(0, "pass", "pass"), IsEmpty());
  EXPECT_THAT(exits(1, "fail", "pass"), IsEmpty());
  EXPECT_THAT(exits(1, "pass", "fail"), IsEmpty());
  EXPECT_THAT(exits(0, "pass", "fail"), IsEmpty()) << "only the failure is contradicted";
}

TEST_F(UnexplainedEndTest, PassedCasesExplainNoExitCode) {
  EXPECT_EQ(exits(1, "pass", "pass"), "exited with 1, which none of its cases explains");
  EXPECT_EQ(exits(66, "pass", "skip"), "exited with 66, which none of its cases explains");
  suite_.kind = &doctest_kind();
  EXPECT_EQ(exits(1, "pass", "pass"), "exited with 1, which none of its cases explains");
  EXPECT_EQ(exits(23, "fail", "pass"), "exited with 23, which none of its cases explains");
  suite_.kind = &pytest_kind();
  EXPECT_EQ(exits(3, "fail", "pass"), "exited with 3, which none of its cases explains");
  EXPECT_THAT(exits(1, "fail", "pass"), IsEmpty());
  suite_.kind = &proctor_kind();
  EXPECT_EQ(exits(66, "pass", "pass"), "exited with 66, which none of its cases explains");
}

TEST_F(UnexplainedEndTest, OpenCaseExplainsEnd) {
  EXPECT_THAT(exits(3, "pass", ""), IsEmpty());
  end_.exit_code.reset();
  end_.exit_signal = 11;
  EXPECT_THAT(why("pass", ""), IsEmpty());
}

TEST_F(UnexplainedEndTest, ReportsProcessesLeakedByOpenCase) {
  end_.exit_code.reset();
  end_.exit_signal = 6;
  end_.termination.leaked_processes = {{.pid = 7, .command = "t"}};
  EXPECT_THAT(why("pass", ""), HasSubstr("left processes when it ended in the middle"));
  end_.exit_signal.reset();
  end_.exit_code = 0;
  EXPECT_THAT(why("pass", "pass"), IsEmpty()) << "a leak alone changes nothing";
}

TEST_F(UnexplainedEndTest, SignalAfterCaseIsUnexplained) {
  end_.exit_code.reset();
  end_.exit_signal = 11;
  EXPECT_EQ(why("pass", "pass"), "was ended by signal 11 after the end of a case");
  EXPECT_EQ(why("pass", "fail"), "was ended by signal 11 after the end of a case");
}

TEST_F(UnexplainedEndTest, HangAfterLastCaseIsUnexplained) {
  for (const EndCause cause : {EndCause::kTimeout, EndCause::kStall}) {
    end_.cause = cause;
    EXPECT_EQ(why("pass", "pass"), "did not exit after its last case");
    EXPECT_THAT(why("pass", ""), IsEmpty()) << "the case hangs";
  }
}

TEST_F(UnexplainedEndTest, EndByRunnerIsExplained) {
  for (const EndCause cause : {EndCause::kStopped, EndCause::kGuardLost, EndCause::kSpawnFailed}) {
    end_.cause = cause;
    end_.exit_code = 1;
    EXPECT_THAT(why("pass", "pass"), IsEmpty());
  }
}

TEST_F(UnexplainedEndTest, WarningNamesReasonAndNextStep) {
  CaseTracker cases(plan_, false);
  cases.mark_unreliable("exited with 1, which none of its cases explains");
  EXPECT_EQ(
      unreliable_process(plan_, cases).text,
      "suite `s`: a process of 2 cases exited with 1, which none of its cases explains. Only the failures "
      "that it reported count; the other cases that began in it run again, each alone");
}

}  // namespace
}  // namespace proctor
