#include "harness/selftest/selftest_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/base/json.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr double kMostOfASuite = 0.5;  // largest part of a suite that a pointed fault may fail

constexpr std::size_t kMostNotOnSimulator = 12;  // limit for the cases of a backend

// Returns whether a case was skipped because simgpu does not model its subject, for example tensor cores.
bool is_not_on_simulator(const Verdict& verdict) {
  return verdict.outcome == Outcome::kSkip && verdict.reason == Reason::kNotOnSimulator;
}

// Returns whether a case was skipped because the machine lacks something that the simulator does not provide.
bool is_lack_of_this_machine(const Verdict& verdict) {
  if (verdict.outcome != Outcome::kSkip) return false;
  const auto is = [&](Reason reason) { return verdict.reason == reason; };
  const bool needs_cuda = verdict.reason.value_of(Reason::kNeeds).value_or("").starts_with("cuda>=");
  return needs_cuda || is(Reason::kSymbolMissing) || is(Reason::kLibraryMissing) ||
         is(Reason::kPackageMissing) || is(Reason::kFatbinMissing) || is_not_on_simulator(verdict);
}

// Returns whether a case was skipped because a library lacks a feature, for example one data type. The other cases of
// its check can still prove the check.
bool is_lack_of_a_library(const Verdict& verdict) {
  return verdict.outcome == Outcome::kSkip && verdict.reason == Reason::kUnsupported;
}

class Summariser {
 public:
  Summariser(const Plan& plan, const SelftestMatrix& matrix, const std::vector<SelftestResult>& results)
      : plan_(plan), matrix_(matrix), results_(results) {}

  SelftestSummary run(const std::vector<Exemption>& exemptions);

 private:
  const SelftestRow& row_of(const SelftestResult& result) const { return matrix_.rows[result.row]; }
  const std::string& check_of(const SelftestResult& result) const {
    return matrix_.checks[row_of(result).check].id;
  }
  bool is_blanket(std::string_view name) const;
  // If only one fault is selected, a check may have other faults that kill it.
  bool is_of_one_fault() const { return matrix_.partial && matrix_.faults.size() == 1; }
  bool is_aside(std::size_t check) const { return aside_.contains(check); }

  void problem(std::string text) { summary_.problems.push_back(std::move(text)); }
  void judge_clean_rows(const std::vector<Exemption>& exemptions);
  void judge_listed_rows();
  void judge_checks(const std::vector<Exemption>& exemptions);
  void judge_faults();
  void judge_spread();

  const Plan& plan_;
  const SelftestMatrix& matrix_;
  const std::vector<SelftestResult>& results_;
  SelftestSummary summary_;
  std::map<std::size_t, std::string> aside_;       // check -> reason
  std::set<std::size_t> killed_, blanket_killed_;  // indices of checks
  std::set<std::string, std::less<>> caught_;      // names of faults
};

bool Summariser::is_blanket(std::string_view name) const {
  return std::any_of(matrix_.faults.begin(), matrix_.faults.end(),
                     [&](const CatalogueFault& fault) { return fault.name == name && fault.blanket; });
}

// A check is set aside only if none of its cases can run. An unsupported case is permitted only if another case of its
// check can run.
void Summariser::judge_clean_rows(const std::vector<Exemption>& exemptions) {
  std::map<std::size_t, std::string> lacking;
  std::set<std::size_t> able;
  std::vector<const SelftestResult*> lacked_by_library;
  std::size_t not_on_simulator = 0;
  for (const auto& result : results_) {
    if (row_of(result).purpose != RowPurpose::kClean) continue;
    if (is_not_on_simulator(result.verdict)) ++not_on_simulator;
    if (is_lack_of_this_machine(result.verdict)) {
      lacking.emplace(row_of(result).check, result.verdict.reason.text());
      continue;
    }
    const bool unsupported = is_lack_of_a_library(result.verdict);
    if (!unsupported) able.insert(row_of(result).check);
    const std::string& id = plan_.cases[result.test].id;
    const bool exempt = std::any_of(exemptions.begin(), exemptions.end(),
                                    [&](const Exemption& entry) { return entry.check == check_of(result); });
    if (exempt && result.verdict.outcome == Outcome::kSkip) continue;
    if (unsupported) {
      lacked_by_library.push_back(&result);
    } else if (result.verdict.outcome != Outcome::kPass) {
      problem(fmt::format("{} is {} without any fault{}", id, to_string(result.verdict),
                          result.kill.message.empty() ? "" : ": " + result.kill.message));
    } else if (result.warned) {
      problem(fmt::format("{} warns without any fault: {}", id, result.kill.message));
    }
  }
  for (const SelftestResult* const result : lacked_by_library) {
    if (!able.contains(row_of(*result).check)) {
      problem(fmt::format("{} is {} without any fault", plan_.cases[result->test].id,
                          to_string(result->verdict)));
    }
  }
  if (not_on_simulator > kMostNotOnSimulator) {
    problem(fmt::format("{} cases are skipped as not_on_simulator, at most {} may be", not_on_simulator,
                        kMostNotOnSimulator));
  }
  for (const auto& [check, reason] : lacking) {
    if (!able.contains(check)) aside_.emplace(check, reason);
  }
}

void Summariser::judge_listed_rows() {
  for (const auto& result : results_) {
    const SelftestRow& row = row_of(result);
    if (row.purpose != RowPurpose::kListed || is_aside(row.check)) continue;
    const std::string name(fault_name(row.fault));
    if (result.kill.killed) {
      caught_.insert(name);
      (is_blanket(name) ? blanket_killed_ : killed_).insert(row.check);
    } else {
      problem(fmt::format("{} is not killed by {}: {}", check_of(result), row.fault, result.kill.message));
    }
  }
}

void Summariser::judge_checks(const std::vector<Exemption>& exemptions) {
  std::set<std::string> exempt;
  for (const auto& entry : exemptions) exempt.insert(entry.check);
  for (std::size_t i = 0; i < matrix_.checks.size(); ++i) {
    const std::string& id = matrix_.checks[i].id;
    const bool killed = killed_.contains(i);
    if (is_aside(i)) {
      summary_.skipped_checks.push_back({id, aside_.at(i)});
    } else if (exempt.erase(id) > 0) {
      const auto entry = std::find_if(exemptions.begin(), exemptions.end(),
                                      [&](const Exemption& known) { return known.check == id; });
      summary_.exempt.push_back(*entry);
      if (killed) problem(fmt::format("{} is exempt although a fault kills it: remove the exemption", id));
    } else {
      ++summary_.checks;
      if (killed) ++summary_.killed;
      if (!killed && blanket_killed_.contains(i)) {
        if (!is_of_one_fault()) problem(fmt::format("{} is killed by blanket faults only", id));
      } else if (!killed && matrix_.checks[i].faults.empty()) {
        problem(fmt::format("{} has no killer: it lists no fault", id));
      } else if (!killed) {
        problem(fmt::format("{} has no killer", id));
      }
    }
  }
  if (matrix_.partial) return;
  for (const auto& id : exempt) problem(fmt::format("{} is exempt, but there is no such check", id));
}

void Summariser::judge_faults() {
  for (const auto& fault : matrix_.faults) {
    int listing = 0;
    std::string reason;  // why none of its checks can run here
    bool can_be_tried = false;
    for (std::size_t i = 0; i < matrix_.checks.size(); ++i) {
      const auto& faults = matrix_.checks[i].faults;
      const bool lists = std::any_of(faults.begin(), faults.end(),
                                     [&](const std::string& spec) { return fault_name(spec) == fault.name; });
      if (!lists) continue;
      ++listing;
      if (is_aside(i)) {
        reason = aside_.at(i);
      } else {
        can_be_tried = true;
      }
    }
    if (listing == 0 && matrix_.partial) continue;
    if (listing > 0 && !can_be_tried) {
      summary_.skipped_faults.push_back({fault.name, reason});
      continue;
    }
    ++summary_.faults;
    if (caught_.contains(fault.name)) {
      ++summary_.caught;
    } else {
      problem(fmt::format("no check catches {}{}", fault.name, listing == 0 ? ": none lists it" : ""));
    }
  }
}

void Summariser::judge_spread() {
  struct Count {
    int failed = 0;
    int all = 0;
  };
  std::map<std::string, Count> counts;
  std::map<std::string, std::size_t> suites;
  for (const auto& result : results_) {
    const SelftestRow& row = row_of(result);
    if (row.purpose == RowPurpose::kSpread) {
      suites.emplace(fault_name(row.fault), matrix_.checks[row.check].suite);
    }
  }
  for (const auto& result : results_) {
    const SelftestRow& row = row_of(result);
    const auto suite = suites.find(std::string(fault_name(row.fault)));
    if (row.purpose == RowPurpose::kClean || suite == suites.end()) continue;
    if (matrix_.checks[row.check].suite != suite->second) continue;
    Count& count = counts[suite->first];
    ++count.all;
    if (is_bad(result.verdict.outcome)) ++count.failed;
  }
  for (const auto& [fault, count] : counts) {
    if (count.failed <= kMostOfASuite * count.all) continue;
    problem(fmt::format("{} fails {} of {} checks of its suite: it is a blanket fault, or is too general",
                        fault, count.failed, count.all));
  }
}

SelftestSummary Summariser::run(const std::vector<Exemption>& exemptions) {
  judge_clean_rows(exemptions);
  judge_listed_rows();
  judge_checks(exemptions);
  judge_faults();
  judge_spread();
  return std::move(summary_);
}

}  // namespace

SelftestSummary summarise(const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results,
                          const std::vector<Exemption>& exemptions) {
  return Summariser(plan, matrix, results).run(exemptions);
}

namespace {

using nlohmann::json;

constexpr std::size_t kMessageWidth = 70;

std::string_view to_string(RowPurpose purpose) {
  switch (purpose) {
    case RowPurpose::kClean:
      return "clean";
    case RowPurpose::kListed:
      return "listed";
    case RowPurpose::kSpread:
      return "spread";
  }
  return "";
}

json row_json(const Plan& plan, const SelftestMatrix& matrix, const SelftestResult& result) {
  const SelftestRow& row = matrix.rows[result.row];
  const Case& test = plan.cases[result.test];
  json fields = {{"purpose", to_string(row.purpose)},
                 {"check", matrix.checks[row.check].id},
                 {"case", test.id},
                 {"outcome", to_string(result.verdict.outcome)},
                 {"reason", result.verdict.reason.text()},
                 {"rule", test.rule},
                 {"message", result.kill.message},
                 {"duration_ms", result.duration_ms},
                 {"log", result.log}};
  if (row.purpose == RowPurpose::kClean) {
    fields["warned"] = result.warned;
  } else {
    fields["fault"] = row.fault;
    fields["fired"] = result.kill.fired;
    fields["detected"] = result.kill.killed;
  }
  return fields;
}

json set_aside_json(const std::vector<SetAside>& entries, const char* kind) {
  json list = json::array();
  for (const auto& entry : entries) list.push_back({{kind, entry.name}, {"reason", entry.reason}});
  return list;
}

json summary_json(const SelftestSummary& summary) {
  json exempt = json::array();
  for (const auto& entry : summary.exempt)
    exempt.push_back({{"check", entry.check}, {"reason", entry.reason}});
  return {{"faults", summary.faults},
          {"detected_faults", summary.caught},
          {"checks", summary.checks},
          {"detecting_checks", summary.killed},
          {"exempt", std::move(exempt)},
          {"skipped_checks", set_aside_json(summary.skipped_checks, "check")},
          {"skipped_faults", set_aside_json(summary.skipped_faults, "fault")}};
}

std::string one_line(const std::string& text) {
  std::string line = clean_text(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

std::string selftest_json(const SelftestInfo& info, const Plan& plan, const SelftestMatrix& matrix,
                          const std::vector<SelftestResult>& results, const SelftestSummary& summary) {
  json rows = json::array();
  json clean = json::array();
  for (const auto& result : results) {
    const bool is_clean = matrix.rows[result.row].purpose == RowPurpose::kClean;
    (is_clean ? clean : rows).push_back(row_json(plan, matrix, result));
  }
  const json document = {{"schema_version", 1},
                         {"id", info.id},
                         {"started", info.started},
                         {"simulated", true},
                         {"backend", info.backend},
                         {"topology", info.topology},
                         {"mode", info.mode},
                         {"partial", matrix.partial},
                         {"duration_ms", info.duration_ms},
                         {"summary", summary_json(summary)},
                         {"problems", summary.problems},
                         {"rows", std::move(rows)},
                         {"clean", std::move(clean)}};
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string selftest_table(const Plan& plan, const SelftestMatrix& matrix,
                           const std::vector<SelftestResult>& results) {
  std::size_t fault_width = 5;
  std::size_t check_width = 5;
  for (const auto& row : matrix.rows) {
    if (row.purpose != RowPurpose::kListed) continue;
    fault_width = std::max(fault_width, row.fault.size());
    check_width = std::max(check_width, matrix.checks[row.check].id.size());
  }
  std::string table = fmt::format("{:<{}}  {:<{}}  {:<5}  {:<8}  {:<5}  {}\n", "fault", fault_width, "check",
                                  check_width, "fired", "outcome", "rule", "message");
  for (const auto& result : results) {
    const SelftestRow& row = matrix.rows[result.row];
    if (row.purpose != RowPurpose::kListed) continue;
    std::string message = one_line((result.kill.killed ? "" : "NOT KILLED: ") + result.kill.message);
    if (result.kill.killed && message.size() > kMessageWidth) {
      message = clean_text(std::string_view(message).substr(0, kMessageWidth)) + " ...";
    }
    table += fmt::format("{:<{}}  {:<{}}  {:<5}  {:<8}  {:<5}  {}\n", row.fault, fault_width,
                         matrix.checks[row.check].id, check_width, result.kill.fired ? "yes" : "no",
                         to_string(result.verdict.outcome), plan.cases[result.test].rule, message);
  }
  return table;
}

std::string selftest_words(const SelftestSummary& summary) {
  std::string text = fmt::format("{} of {} faults caught, {} of {} checks killed", summary.caught,
                                 summary.faults, summary.killed, summary.checks);
  if (!summary.exempt.empty()) text += fmt::format(", {} exempt", summary.exempt.size());
  text += "\n";
  for (const auto& entry : summary.skipped_checks) {
    text += fmt::format("not tried here: check {} ({})\n", entry.name, entry.reason);
  }
  for (const auto& entry : summary.skipped_faults) {
    text += fmt::format("not tried here: fault {} ({})\n", entry.name, entry.reason);
  }
  for (const auto& problem : summary.problems) text += fmt::format("problem: {}\n", one_line(problem));
  return text;
}

}  // namespace proctor
