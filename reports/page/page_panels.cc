#include "reports/page/page_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>
#include <utility>

#include "harness/core/words.h"
#include "reports/page/page_parts.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

constexpr std::size_t kMostRowBytes = 300'000;  // of a table; what is beyond them is counted
constexpr std::size_t kMostListed = 1000;       // names in a folded list
constexpr std::size_t kMostCasesNamed = 10;     // of a rule, before the others are folded
constexpr std::size_t kMostCasesFolded = 50;
constexpr std::size_t kMostBadNamed = 3;
constexpr std::size_t kMostSaid = 10;
constexpr std::size_t kMostChecksNamed = 100;
constexpr std::size_t kMostWeakenings = 100;

std::string id_html(const std::string& id) { return "<span class=\"id\">" + html_line(id) + "</span>"; }

std::string folded(const std::string& title, const std::string& html) {
  return html.empty() ? "" : fmt::format("<details><summary>{}</summary>{}</details>\n", title, html);
}

// A table that takes rows until it is full.
class CutTable {
 public:
  explicit CutTable(std::vector<std::string_view> titles) : table_(std::move(titles)) {}

  void add(std::vector<std::string> cells) {
    if (bytes_ > kMostRowBytes) {
      ++left_out_;
      return;
    }
    for (const std::string& cell : cells) bytes_ += cell.size();
    table_.add(std::move(cells));
  }
  std::string html() const {
    return table_.html() +
           (left_out_ == 0 ? "" : fmt::format("<p class=\"quiet\">And {} more.</p>\n", thousands(left_out_)));
  }

 private:
  HtmlTable table_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
};

// ---- The gate ----

std::unordered_set<std::string_view> ids_of(const PageRequest& request) {
  std::unordered_set<std::string_view> ids;
  for (const PageRun& run : request.runs) {
    for (const CaseResult& result : run.results.cases) ids.insert(result.id);
  }
  return ids;
}

// Cases that the page has are links into its list.
std::string gate_cases(const PageGateRule& rule, const std::unordered_set<std::string_view>& ids) {
  std::array<std::string, 2> lists;
  for (std::size_t i = 0; i < std::min(rule.cases.size(), kMostCasesNamed + kMostCasesFolded); ++i) {
    std::string& list = lists.at(i < kMostCasesNamed ? 0 : 1);
    const std::string& id = rule.cases[i];
    list += (list.empty() ? "" : ", ") + (ids.contains(id) ? case_link(id) : id_html(id));
  }
  if (rule.cases.size() > kMostCasesNamed + kMostCasesFolded)
    lists[1] +=
        fmt::format(" and {} more", thousands(rule.cases.size() - kMostCasesNamed - kMostCasesFolded));
  if (lists[0].empty()) return "";
  return "<div class=\"ids\">" + lists[0] + folded("the others", lists[1]) + "</div>";
}

std::string red_rules(const PageGate& gate, const std::unordered_set<std::string_view>& ids) {
  CutTable table({"Cell", "Rule that does not hold", "Allowed", "There is", "Why", "Cases"});
  for (const PageGateRule& rule : gate.red) {
    std::string says;
    for (std::size_t i = 0; i < std::min(rule.says.size(), kMostSaid); ++i)
      says += (i == 0 ? "" : "<br>") + html_line(rule.says[i]);
    if (rule.says.size() > kMostSaid)
      says += fmt::format("<br>and {} more", thousands(rule.says.size() - kMostSaid));
    table.add({rule.cell.empty() ? "all runs" : html_line(rule.cell), badge("bad", rule.rule),
               html_line(rule.limit), html_line(rule.value), says, gate_cases(rule, ids)});
  }
  return table.html();
}

std::string gate_cells(const PageGate& gate) {
  CutTable table({"Cell", "Verdict", "#Executed", "#Planned", "Runs"});
  for (const PageGateCell& cell : gate.cells)
    table.add({html_line(cell.name), badge(cell.green ? "good" : "bad", cell.green ? "green" : "red"),
               thousands(cell.executed), thousands(cell.planned), html_line(joined(cell.runs, ", "))});
  return table.html();
}

std::string weakenings(const PageGate& gate) {
  if (gate.weakenings.empty()) return "<p>The policy weakens nothing.</p>\n";
  std::string items;
  for (std::size_t i = 0; i < std::min(gate.weakenings.size(), kMostWeakenings); ++i) {
    const PageWeakening& one = gate.weakenings[i];
    items += fmt::format("<li>line {}: <code>{} = {}</code> <small>else {}</small></li>\n", one.line,
                         html_line(one.key), html_line(one.value), html_line(one.strict));
  }
  if (gate.weakenings.size() > kMostWeakenings)
    items += fmt::format("<li>and {} more</li>\n", thousands(gate.weakenings.size() - kMostWeakenings));
  return "<h3>What the policy weakens</h3>\n<ul class=\"ids\">\n" + items + "</ul>\n";
}

// A verdict says nothing of a run that it is not of.
std::string judged_runs(const PageRequest& request) {
  const auto judged = static_cast<std::size_t>(std::ranges::count_if(request.runs, [&](const PageRun& run) {
    return request.gate->journals.contains(run.results.journal_sha256);
  }));
  const std::size_t other = request.runs.size() - judged;
  const std::size_t elsewhere =
      request.gate->journals.size() - std::min(judged, request.gate->journals.size());
  std::string html;
  if (other > 0)
    html += fmt::format("<p class=\"notice\"><strong>It is not of {}</strong> on this page.</p>\n",
                        request.runs.size() == 1 ? "the run" : counted(other, "run", "runs"));
  if (elsewhere > 0)
    html += fmt::format("<p class=\"quiet\">It is of {} too.</p>\n",
                        counted(elsewhere, "run that is not on this page", "runs that are not on this page"));
  return html;
}

// ---- The rules ----

// How the cases of a check ended, or those of all checks of a rule: how many by their looks.
struct Fared {
  std::map<std::string_view, std::size_t> looks{};
  std::size_t cases = 0;
  std::vector<std::string> bad{};  // the first ids

  void add(std::string_view look, const std::string& id) {
    ++looks[look];
    ++cases;
    if (look == "bad" && bad.size() < kMostBadNamed) bad.push_back(id);
  }
  void add(const Fared& other) {
    for (const auto& [look, count] : other.looks) looks[look] += count;
    cases += other.cases;
    for (const std::string& id : other.bad) {
      if (bad.size() < kMostBadNamed) bad.push_back(id);
    }
  }
};

// The worst of them; that some were skipped says nothing of the others.
std::string_view worst_look(const Fared& fared) {
  for (const std::string_view look : {"bad", "unrun", "known", "good", "skip"}) {
    if (fared.looks.contains(look)) return look;
  }
  return "unrun";
}

std::string_view words_of(std::string_view look) {
  if (look == "good" || look == "bad") return look;
  if (look == "known") return "known or flaky";
  return look == "skip" ? "skipped" : "not run";
}

std::string_view look_of_case(const PageRequest& request, const PageCase& test) {
  const CaseResult& result = result_of(request, test);
  if (test.bad && result.standing != Standing::kUnrun) return "bad";
  const std::string_view look = look_of(result.verdict, result.standing);
  return result.flaky && look == "good" ? "known" : look;
}

// "memory.xpu/Copy.All" of "memory.xpu/Copy.All/Size4096".
std::string_view check_of(std::string_view id) {
  const std::size_t suite = id.find('/');
  return suite == std::string_view::npos ? id : id.substr(0, id.find('/', suite + 1));
}

using FaredByCheck = std::map<std::string_view, Fared>;

FaredByCheck fared_by_check(const PageRequest& request, const std::vector<PageCase>& cases) {
  FaredByCheck checks;
  for (const PageCase& test : cases) {
    const std::string& id = result_of(request, test).id;
    checks[check_of(id)].add(look_of_case(request, test), id);
  }
  return checks;
}

const Fared& fared_in(const FaredByCheck& checks, const PageCheck& check) {
  static const Fared kNotHere;
  const auto found = checks.find(check.id);
  return found == checks.end() ? kNotHere : found->second;
}

Fared fared_of(const PageRule& rule, const FaredByCheck& checks) {
  Fared all;
  for (const PageCheck& check : rule.checks) all.add(fared_in(checks, check));
  return all;
}

std::string fared_html(const Fared& fared) {
  if (fared.cases == 0) return badge("unrun", "not in this run");
  const std::string_view look = worst_look(fared);
  std::string html = badge(look, words_of(look));
  if (look != "bad") return html;
  html += "<div class=\"ids\">";
  for (std::size_t i = 0; i < fared.bad.size(); ++i) html += (i == 0 ? "" : ", ") + case_link(fared.bad[i]);
  if (const std::size_t all = fared.looks.at("bad"); all > fared.bad.size())
    html += fmt::format(" and {} more", thousands(all - fared.bad.size()));
  return html + "</div>";
}

std::string checks_html(const PageRule& rule, const FaredByCheck& checks) {
  std::string items;
  for (std::size_t i = 0; i < std::min(rule.checks.size(), kMostChecksNamed); ++i) {
    const PageCheck& check = rule.checks[i];
    const std::string faults = html_line(joined(check.faults, "; "));
    items += fmt::format("<li>{} {} <small>{}</small></li>\n", sign_of(worst_look(fared_in(checks, check))),
                         id_html(check.id), faults.empty() ? "no fault" : faults);
  }
  if (rule.checks.size() > kMostChecksNamed)
    items += fmt::format("<li>and {} more</li>\n", thousands(rule.checks.size() - kMostChecksNamed));
  return items.empty() ? badge("unrun", "no check")
                       : folded(counted(rule.checks.size(), "check", "checks"),
                                "<ul class=\"ids\">\n" + items + "</ul>\n");
}

std::string names_html(const std::vector<std::string>& names) {
  std::string html;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i)
    html += (i == 0 ? "" : ", ") + id_html(names[i]);
  if (names.size() > kMostListed) html += fmt::format(" and {} more", thousands(names.size() - kMostListed));
  return html.empty() ? "" : "<p class=\"ids\">" + html + "</p>";
}

std::string rules_html(const PageCoverage& coverage, const FaredByCheck& checks) {
  std::map<std::string_view, std::size_t> looks;
  CutTable bad({"Rule", "In this run", "#Cases", "Checks, and the faults that kill them"});
  CutTable others = bad;
  std::size_t not_here = 0;
  for (const PageRule& rule : coverage.rules) {
    const Fared fared = fared_of(rule, checks);
    const std::string_view look = worst_look(fared);
    ++(fared.cases == 0 ? not_here : looks[look]);
    (look == "bad" ? bad : others)
        .add({fmt::format("{} <small>{}</small>", html_line(rule.id),
                          html_line(joined(rule.sources, "; "), 200)),
              fared_html(fared), fared.cases == 0 ? "" : thousands(fared.cases), checks_html(rule, checks)});
  }
  std::string summary;
  for (const auto& [look, count] : looks)
    summary += badge(look, thousands(count) + " " + std::string(words_of(look))) + " ";
  if (not_here > 0) summary += badge("unrun", thousands(not_here) + " not in this run");
  return fmt::format("<p>{}: {}</p>\n", counted(coverage.rules.size(), "rule", "rules"), summary) +
         bad.html() + folded(looks.contains("bad") ? "The other rules" : "All rules", others.html());
}

std::string_view interface_of(const std::string& backend) {
  if (backend == "xpu") return "Level Zero";
  return backend == "cuda" ? "the CUDA Runtime" : "another interface";
}

// Those that no check calls, by the reason.
std::string functions_html(const PageCoverage& coverage) {
  struct Interface {
    std::size_t all = 0;
    std::size_t uncalled = 0;
    std::map<std::string, std::vector<std::string>> names;  // by their reason
  };
  std::map<std::string_view, Interface> interfaces;
  for (const PageCovered& function : coverage.functions) {
    Interface& of = interfaces[interface_of(function.backend)];
    ++of.all;
    if (!function.by.empty()) continue;
    ++of.uncalled;
    of.names[function.reason].push_back(function.name);
  }
  std::string html;
  for (const auto& [name, of] : interfaces) {
    const std::string title = fmt::format("{} of {} functions of {} are called by no check",
                                          thousands(of.uncalled), thousands(of.all), name);
    std::string list;
    for (const auto& [reason, names] : of.names)
      list +=
          "<p>" + (reason.empty() ? "Nobody says why" : html_line(reason)) + ":</p>\n" + names_html(names);
    html += list.empty() ? "<p>" + title + ".</p>\n" : folded(title, list);
  }
  return html;
}

// What has no check, counted, with the list behind it.
std::string uncovered(const PageCoverage& coverage) {
  std::vector<std::string> rules, faults;
  for (const PageRule& rule : coverage.rules) {
    if (rule.checks.empty()) rules.push_back(rule.id);
  }
  for (const PageCovered& fault : coverage.faults) {
    if (fault.by.empty()) faults.push_back(fault.name);
  }
  const auto none_of = [](const std::vector<std::string>& names, std::size_t all, std::string_view what) {
    if (names.empty()) return fmt::format("<p>Each of {} {} has a check.</p>\n", thousands(all), what);
    return folded(fmt::format("{} of {} {} have no check", thousands(names.size()), thousands(all), what),
                  names_html(names));
  };
  std::string html = none_of(rules, coverage.rules.size(), "rules") +
                     none_of(faults, coverage.faults.size(), "faults of the simulator");
  return html + functions_html(coverage);
}

}  // namespace

std::string gate_panel(const PageRequest& request) {
  if (request.gate == nullptr) return "";
  const PageGate& gate = *request.gate;
  return fmt::format("<p>{} by the policy {} <code>{}</code>, at {}.</p>\n",
                     badge(gate.green ? "good" : "bad", gate.green ? "green" : "red"), id_html(gate.policy),
                     html_line(gate.policy_sha256.substr(0, 12)), time_html(gate.at)) +
         judged_runs(request) + gate_cells(gate) + red_rules(gate, ids_of(request)) + weakenings(gate);
}

std::string coverage_panel(const PageRequest& request, const std::vector<PageCase>& cases) {
  if (request.coverage == nullptr) return "";
  return rules_html(*request.coverage, fared_by_check(request, cases)) + uncovered(*request.coverage);
}

}  // namespace proctor
