// What programs of test frameworks write: the XML of Catch2, doctest and JUnit, and the JSON of GoogleTest and Google
// Benchmark; their lists, and their reports as they come, in pieces.
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

// A stream comes in lines, a file whole.
void report(const Kind& kind, const std::string& text) {
  const Suite suite = suite_of(kind);
  Case test;
  test.id = "s/a";
  test.argv = {"program", "--run_test=p:a"};
  const auto translator = kind.translator(suite, test);
  ChildReport child("a");
  translator->hear(text);
  const std::size_t piece = kind.voice(suite) == Voice::kStream ? 80 : text.size() + 1;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    for (const std::string& line : translator->translate(text.substr(at, piece))) child.add_line(line);
  }
  const Verdict verdict = kind.judge({.child = child});
  fuzz::check(verdict.outcome != Outcome::kPass || (child.violations() == 0 && child.result()));
}

// What comes over a connection: a case that passes was told of in order.
void testimony(const Kind& kind, const std::string& text) {
  const auto told = kind.testimony();
  if (!told) return;
  std::string_view rest = text;
  std::size_t begins = 0;
  std::size_t ends = 0;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    for (const std::string& event : told->translate(line.empty() ? rest : line))
      ++(ChildReport::started_case(event) ? begins : ends);
    rest.remove_prefix(line.empty() ? rest.size() : line.size());
  }
  fuzz::check(ends == 0 || begins > 0);
  static_cast<void>(told->translate_file(text));
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
  testimony(kind, text);
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
