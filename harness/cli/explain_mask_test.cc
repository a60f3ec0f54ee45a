// Tests the command with a real parse of argv, and its text.
#include "harness/cli/explain_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

namespace proctor::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int kParseError = -1;

struct Printed {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs `proctor explain mask ARGS...` with the arguments of a shell.
Printed run(std::initializer_list<const char*> args) {
  std::vector<const char*> argv = {"explain", "mask"};
  argv.insert(argv.end(), args);
  CLI::App app("explain");
  app.require_subcommand(1);
  Action action;
  add_explain_mask(app, action);
  Printed printed;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    printed.code = action();
  } catch (const CLI::ParseError& error) {
    printed.code = kParseError;
    printed.err = error.what();
  }
  printed.out = testing::internal::GetCapturedStdout();
  printed.err += testing::internal::GetCapturedStderr();
  return printed;
}

TEST(ExplainMask, ExplainsSameValueForBothVendors) {
  const Printed cuda = run({"cuda", "0,-1,1"});
  EXPECT_EQ(cuda.code, 0);
  EXPECT_THAT(cuda.out,
              AllOf(HasSubstr("CUDA_VISIBLE_DEVICES='0,-1,1'\nverdict: accepted, selects 0, in this order\n"),
                    HasSubstr("is negative: it and every entry after it are hidden"),
                    HasSubstr("hidden: entry 2 ended the list"), HasSubstr("\n  0\n"),
                    HasSubstr("CUDA Programming Guide, \"CUDA Environment Variables\"")));
  const Printed xpu = run({"xpu", "0,-1,1"});
  EXPECT_EQ(xpu.code, 2);
  EXPECT_THAT(xpu.out,
              AllOf(HasSubstr("ZE_AFFINITY_MASK='0,-1,1'\nverdict: refused, entry 2"),
                    HasSubstr("it is skipped, the other entries count"), HasSubstr("COMPOSITE: 0 1\n"),
                    HasSubstr("FLAT, COMBINED: 0.0 0.1\n"), HasSubstr("PROG.rst \"Affinity Mask\""),
                    HasSubstr("execution_environment.cpp parseAffinityMask()")));
}

TEST(ExplainMask, RefusalMatchesGoldenText) {
  const Printed printed = run({"xpu", "0;1"});
  EXPECT_EQ(printed.code, 2);
  EXPECT_EQ(printed.err,
            "refused: ZE_AFFINITY_MASK='0;1'\n"
            "  entry 1 '0;1' at column 1 has ';1' after the number\n"
            "Did you mean '0,1'?\n");
  EXPECT_THAT(printed.out, HasSubstr("\nIntel's driver (a model of its versions 22.43 and 26.27)\n"
                                     "  '0;1' is read as 0\n"
                                     "  22.43, 26.27 COMPOSITE on 2x4: selects 0\n"
                                     "  26.27 FLAT on 2x4: selects 0.0\n"));
}

TEST(ExplainMask, AcceptanceMatchesGoldenText) {
  const Printed printed = run({"cuda", "0,-1,1"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(printed.err, "");
  EXPECT_THAT(
      printed.out,
      StartsWith("CUDA_VISIBLE_DEVICES='0,-1,1'\n"
                 "verdict: accepted, selects 0, in this order\n"
                 "warning: entry 2 '-1' is negative and ends the list: 1 entry after it hidden ('1')\n"));
}

TEST(ExplainMask, AValueMayBeginWithADash) {
  EXPECT_EQ(run({"xpu", "-1"}).code, 2);
  EXPECT_THAT(run({"xpu", "-1"}).err, HasSubstr("ZE_AFFINITY_MASK='-1'"));
  EXPECT_EQ(run({"cuda", "-1"}).code, 0);
  EXPECT_EQ(run({"cuda", "-1,0"}).code, 0);
  EXPECT_THAT(run({"xpu", "-x"}).err, HasSubstr("ZE_AFFINITY_MASK='-x'"));
  EXPECT_THAT(run({"xpu", "--all"}).err, HasSubstr("ZE_AFFINITY_MASK='--all'"));
  EXPECT_THAT(run({"xpu", "--", "-x"}).err, HasSubstr("ZE_AFFINITY_MASK='-x'"));
  EXPECT_THAT(run({"xpu", "--topology", "2x4", "-1"}).err, HasSubstr("ZE_AFFINITY_MASK='-1'"));
  EXPECT_THAT(run({"xpu", "-1", "--topology", "2x4"}).err, HasSubstr("ZE_AFFINITY_MASK='-1'"));
}

TEST(ExplainMask, AcceptsEmptyValue) {
  const Printed xpu = run({"xpu", ""});
  EXPECT_EQ(xpu.code, 0);
  EXPECT_THAT(xpu.out, AllOf(HasSubstr("means all"), HasSubstr("COMPOSITE: 0 1\n")));
  const Printed cuda = run({"cuda", ""});
  EXPECT_EQ(cuda.code, 0);
  EXPECT_THAT(cuda.out, AllOf(HasSubstr("hides every device"), HasSubstr("  nothing\n")));
}

TEST(ExplainMask, RejectsValuesThatDriversMisread) {
  for (const char* value : {"*", "0,,1", "0;1", "1gpu", "0x1", "010", "\xD9\xA1", "0,", "-1", "abc",
                            "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"}) {
    EXPECT_EQ(run({"xpu", value}).code, 2) << value;
  }
  for (const char* value : {"*", "0,,1", "0;1", "1gpu", "0x1", "010", "\xD9\xA1", "0,"}) {
    EXPECT_EQ(run({"cuda", value}).code, 2) << value;
  }
}

TEST(ExplainMask, VerdictDependsOnHierarchyAndTopology) {
  EXPECT_EQ(run({"xpu", "0.1", "--hierarchy", "COMPOSITE", "--topology", "2x2"}).code, 0);
  EXPECT_EQ(run({"xpu", "0.1", "--hierarchy", "FLAT", "--topology", "2x2"}).code, 2);
  EXPECT_EQ(run({"xpu", "5"}).code, 0);
  EXPECT_EQ(run({"xpu", "5", "--topology", "2x2"}).code, 2);
  EXPECT_THAT(
      run({"xpu", "3", "--hierarchy", "FLAT", "--topology", "2x2"}).out,
      AllOf(HasSubstr("FLAT: 1.1\n"), Not(HasSubstr("\n  COMPOSITE:")), Not(HasSubstr("an example"))));
  EXPECT_THAT(run({"cuda", "0,5", "--topology", "4"}).out, HasSubstr("selects 0 on 4 devices"));
}

TEST(ExplainMask, BadRequestsAreUsageErrors) {
  const auto expect = [](std::initializer_list<const char*> args, const char* what, const char* hint) {
    const Printed printed = run(args);
    EXPECT_EQ(printed.code, 2);
    EXPECT_THAT(printed.out, IsEmpty());
    EXPECT_THAT(printed.err, AllOf(HasSubstr(what), HasSubstr(hint)));
  };
  expect({"cud", "0"}, "(got 'cud')", "Did you mean `cuda`?");
  expect({"level_zero", "0"}, "must be cuda or xpu", "got 'level_zero'");
  expect({"xpu", "0", "--hierarchy", "flat"}, "(got 'flat')", "Did you mean 'FLAT'?");
  expect({"xpu", "0", "--topology", "2x"}, "(got '2x')", "'2x4'");
  expect({"cuda", "0", "--topology", "2x2"}, "'2x2' is not valid for cuda", "no tiles");
  expect({"cuda", "0", "--hierarchy", "FLAT"}, "'FLAT' cannot be combined with cuda", "Level Zero");
}

TEST(ExplainMask, MissingAndSurplusArgumentsAreParseErrors) {
  EXPECT_EQ(run({}).code, kParseError);
  EXPECT_EQ(run({"xpu"}).code, kParseError);
  EXPECT_EQ(run({"xpu", "0", "1"}).code, kParseError);
  EXPECT_THAT(run({"xpu", "0", "--hierachy", "FLAT"}).err, HasSubstr("--hierachy"));
}

}  // namespace
}  // namespace proctor::cli
