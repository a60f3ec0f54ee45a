#include "reports/history/seen_programs.h"

#include <utility>

namespace proctor {
namespace {

bool was_executed(Outcome outcome) { return outcome != Outcome::kSkip && outcome != Outcome::kNotrun; }

}  // namespace

void SeenPrograms::add(const std::string& case_id, std::string_view sha256) {
  programs_[case_id].emplace(sha256);
}

Sight SeenPrograms::of(const std::string& case_id, std::string_view sha256) const {
  const auto seen = programs_.find(case_id);
  if (seen == programs_.end()) return Sight::kNew;
  if (sha256.empty()) return Sight::kUnknown;
  if (seen->second.contains(sha256)) return Sight::kSeen;
  return seen->second.contains("") ? Sight::kUnknown : Sight::kChanged;
}

SeenPrograms seen_programs(const RunResults& run) {
  SeenPrograms seen;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> digests;
  for (const TestedProgram& program : run.programs)
    digests[{program.suite, program.backend}] = program.sha256;
  for (const CaseResult& result : run.cases) {
    const Variant& variant = run.variants[result.variant];
    if (was_executed(result.verdict.outcome)) seen.add(result.id, digests[{variant.suite, variant.backend}]);
  }
  return seen;
}

Result<SeenPrograms> seen_programs(History& history) {
  SeenPrograms seen;
  const auto done = history.read([&](Database& database) {
    Statement row(database,
                  "SELECT DISTINCT test.case_id, coalesce(program.sha256, '') FROM result "
                  "JOIN variant ON variant.id = result.variant JOIN test ON test.id = result.test "
                  "LEFT JOIN program ON program.run = result.run AND program.suite = variant.suite "
                  "AND program.backend = variant.backend WHERE result.outcome NOT IN (?, ?)");
    row.bind(static_cast<int>(Outcome::kSkip), static_cast<int>(Outcome::kNotrun));
    while (row.step()) seen.add(std::string(row.text(0)), row.text(1));
  });
  if (!done) return done.error();
  return seen;
}

}  // namespace proctor
