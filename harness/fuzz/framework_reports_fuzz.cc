// Fuzzes the readers of test framework output: XML of Catch2, doctest and JUnit, JSON of GoogleTest and Google
// Benchmark, lists of cases, and streamed reports in pieces.
#include <algorithm>
#include <string_view>

#include "harness/frameworks/all_kinds.h"
#include "harness/frameworks/xml_report.h"
#include "harness/fuzz/fuzz.h"
#include "harness/journal/child_report.h"
#include "reports/compare/junit_results.h"

namespace {

using namespace proctor;

Suite suite_of(const Kind& kind) {
  Suite suite;
  suite.name = "s";
  suite.kind = &kind;
  suite.command = {"program"};
  return suite;
}

// Feeds a stream line by line and a report file as a whole.
void report(const Kind& kind, const std::string& text) {
  const Suite suite = suite_of(kind);
  Case test;
  test.id = "s/a";
  test.argv = {"program", "--run_test=p:a"};
  const auto translator = kind.translator(suite, test);
  ChildReport child("a");
  translator->receive(text);
  const std::size_t piece = kind.reporting_mode(suite) == ReportingMode::kStream ? 80 : text.size() + 1;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    for (const std::string& line : translator->translate(text.substr(at, piece))) child.add_line(line);
  }
  const Verdict verdict = kind.judge({.child = child});
  fuzz::check(verdict.outcome != Outcome::kPass || (child.violations() == 0 && child.result()));
}

// Fuzzes the readers of a process of several cases: its output and its result file.
void progress(const Kind& kind, const std::string& text) {
  const auto reader = kind.progress_reader();
  if (!reader) return;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const ProgressStep step = reader->read(line);
    fuzz::check(step.what != ProgressStep::What::kEnd || !step.name.empty());
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  static_cast<void>(reader->translate(text));
}

void list(const Kind& kind, const std::string& text) {
  Suite suite = suite_of(kind);
  ListOutput out;
  out.exit_code = 0;
  out.stdout_text = out.file_text = text;
  std::vector<Warning> warnings;
  const auto ask = [&](const std::vector<std::string>&) -> Result<ListOutput> { return out; };
  if (!kind.is_list(out)) static_cast<void>(out.exit_signal);
  const auto cases = kind.read_list(suite, out, ask, warnings);
  if (cases) static_cast<void>(kind.check_alone(*cases));
}

void both(const Kind& kind, const std::string& text) {
  report(kind, text);
  progress(kind, text);
  list(kind, text);
}

void xml(const std::string& text) {
  if (const auto element = parse_xml(text)) fuzz::check(find_xml(text, "no such element") == std::nullopt);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::function<void(const std::string&)>> readers{
      xml, [](const std::string& text) { static_cast<void>(parse_junit(text, "f")); }};
  for (const Kind* kind : all_kinds()) {
    if (kind->translator(suite_of(*kind), {}) == nullptr) continue;
    readers.emplace_back([kind](const std::string& text) { both(*kind, text); });
  }
  fuzz::give(data, size, readers);
  return 0;
}
