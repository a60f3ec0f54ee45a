#include "harness/selftest/selftest_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/text.h"

namespace proctor {
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
    fields["killed"] = result.kill.killed;
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
          {"caught", summary.caught},
          {"checks", summary.checks},
          {"killed", summary.killed},
          {"exempt", std::move(exempt)},
          {"checks_set_aside", set_aside_json(summary.checks_set_aside, "check")},
          {"faults_set_aside", set_aside_json(summary.faults_set_aside, "fault")}};
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
  for (const auto& entry : summary.checks_set_aside) {
    text += fmt::format("not tried here: check {} ({})\n", entry.name, entry.reason);
  }
  for (const auto& entry : summary.faults_set_aside) {
    text += fmt::format("not tried here: fault {} ({})\n", entry.name, entry.reason);
  }
  for (const auto& problem : summary.problems) text += fmt::format("problem: {}\n", one_line(problem));
  return text;
}

}  // namespace proctor
