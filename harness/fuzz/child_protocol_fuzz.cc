// Fuzzes the readers of the child protocol: one case, its ranks, and the list of a program's cases.
#include "harness/base/words.h"
#include "harness/frameworks/proctor.h"
#include "harness/frameworks/pytest.h"
#include "harness/fuzz/fuzz.h"
#include "harness/journal/child_report.h"
#include "harness/runner/attempt/rank_reports.h"

namespace {

using namespace proctor;

std::vector<std::string_view> lines_in(const std::string& text) { return lines_of(text); }

void one_case(const std::string& text) {
  ChildReport report("G.N");
  for (const auto line : lines_in(text)) {
    const auto started = ChildReport::started_case(line);
    report.add_line(line);
    fuzz::check(!started || report.violations() > 0 || !report.also_ran().empty() || *started == "G.N" ||
                started->empty());
  }
  for (const Kind* kind : {&proctor_kind(), &pytest_kind()}) {
    const Verdict verdict = kind->judge({.child = report});
    fuzz::check(verdict.outcome != Outcome::kPass || (report.violations() == 0 && report.result()));
  }
}

void ranks(const std::string& text) {
  RankReports reports("G.N", proctor_kind(), 3);
  for (const auto line : lines_in(text)) reports.add_line(line);
  AttemptEvidence supervisor{.kind = &proctor_kind(), .exit_code = 0};
  for (const EndCause cause : {EndCause::kExited, EndCause::kTimeout, EndCause::kStopped}) {
    supervisor.cause = cause;
    const Verdict verdict = reports.judge(supervisor);
    fuzz::check(verdict.outcome != Outcome::kPass ||
                (cause == EndCause::kExited && reports.merged().result()));
    reports.interrupt();
  }
  fuzz::check(reports.ends().size() == 3);
  static_cast<void>(reports.who_answers() + reports.who_is_left());
}

void list(const Kind& kind, const std::string& text) {
  Suite suite;
  suite.name = "s";
  suite.kind = &kind;
  suite.command = {"program"};
  ListOutput out;
  out.exit_code = 0;
  for (const auto line : lines_in(text)) out.event_lines.emplace_back(line);
  std::string said;
  std::vector<Warning> warnings;
  static_cast<void>(kind.list_problem(out, said));
  const auto ask = [](const std::vector<std::string>&) -> Result<ListOutput> { return Error::usage("ask"); };
  const auto cases = kind.read_list(suite, out, ask, warnings);
  if (cases) static_cast<void>(kind.check_alone(*cases));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::give(data, size,
             {one_case, ranks, [](const std::string& text) { list(proctor_kind(), text); },
              [](const std::string& text) { list(pytest_kind(), text); }});
  return 0;
}
