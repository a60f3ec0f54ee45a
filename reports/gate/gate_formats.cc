#include "reports/gate/gate_formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/formats/json_writer.h"
#include "reports/formats/markdown.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kShownCases = 10;
constexpr std::size_t kLongestShown = 4000;  // in bytes; gate.json is complete

// Only the file name is written, so that equal files in two directories give equal verdicts.
std::string name_of_file(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string_view verdict_text(bool passed) { return to_string(passed_or_failed(passed)); }

void write_gate_finding(JsonWriter& json, const GateFinding& finding) {
  json.member("rule", finding.rule)
      .member("verdict", verdict_text(finding.held))
      .member("limit", finding.limit);
  json.member("value", finding.value).member("reasons", finding.reasons).member("cases", finding.cases);
}

void write_policy(JsonWriter& json, const GatePolicy& policy) {
  json.open_object("policy").member("file", name_of_file(policy.file)).member("sha256", policy.sha256);
  json.objects("relaxations", policy.relaxations, [](JsonWriter& out, const GateRelaxation& relaxation) {
    out.member("line", relaxation.line).member("key", relaxation.key);
    out.member("value", relaxation.value).member("strict", relaxation.strict);
  });
  json.close();
}

void write_list(JsonWriter& json, const GateInputs& inputs, const GateVerdict& verdict) {
  if (!json.open_object_or_null("known_failures", inputs.known_failures.has_value())) return;
  json.member("file", name_of_file(inputs.known_failures->file));
  json.member("sha256", inputs.known_failures->sha256);
  json.objects("entries", verdict.known_failures, [](JsonWriter& out, const GateEntryUse& entry) {
    out.member("location", entry.origin).member("cases", entry.cases).member("owner", entry.owner);
    out.member("issue", entry.issue).member("days_known", entry.days_known);
    out.member("days_left", entry.days_left).member("hits", entry.hits);
  });
  json.close();
}

void write_evidence(JsonWriter& json, const GateEvidence& run) {
  json.member("name", run.run).member("host", run.host).member("journal_sha256", run.sha256);
  json.member("started", run.started).member_or_null("finished", run.finished);
}

void write_cell_verdict(JsonWriter& json, const GateCellVerdict& cell) {
  json.member("name", cell.cell.name).member("verdict", verdict_text(cell.passed()));
  json.member("suite", cell.cell.suite).member("backend", cell.cell.backend);
  json.member_or_null("stack", cell.cell.stack).member_or_null("device", cell.cell.device);
  json.member("hardware", cell.cell.hardware).member("runs", cell.runs);
  json.member("planned", cell.planned).member("executed", cell.executed);
  json.objects("rules", cell.rules, write_gate_finding);
}

// Escapes text for a table or a list of Markdown.
std::string plain(std::string_view text) { return markdown_escaped(in_one_line(text)); }

void add_failed_rules(std::string& out, const std::string& name, const std::vector<GateFinding>& findings) {
  for (const GateFinding& finding : findings) {
    if (finding.held) continue;
    out += fmt::format("* **{}**, rule `{}` (allowed: {}; there is: {})\n", plain(name), finding.rule,
                       plain(finding.limit), plain(finding.value));
    for (const std::string& why : finding.reasons) out += fmt::format("  * {}\n", plain(why));
    if (!finding.cases.empty())
      out += fmt::format("  * cases: {}\n",
                         markdown_escaped(some_of(finding.cases, 4 * kShownCases, in_one_line)));
  }
}

void add_failed_text(std::string& out, const std::vector<GateFinding>& findings) {
  for (const GateFinding& finding : findings) {
    if (finding.held) continue;
    for (const std::string& why : finding.reasons)
      out += fmt::format("  {:<16} {}\n", finding.rule, in_one_line(why));
    if (!finding.cases.empty())
      out += fmt::format("  {:<16} cases: {}\n", "", some_of(finding.cases, kShownCases, in_one_line));
  }
}

}  // namespace

std::string in_one_line(std::string_view text) {
  const std::string_view head = text.substr(0, kLongestShown);
  std::string line;
  for (const char c : without_hidden_controls(clean_text(head))) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else {
      line += c;
    }
  }
  if (head.size() < text.size()) line += fmt::format(" ... and {} more bytes", text.size() - head.size());
  return line;
}

std::string gate_json(const GateInputs& inputs, const GateVerdict& verdict) {
  std::string text = text_of([&](TextOutput& output) {
    JsonWriter json(output);
    json.open_object().member("schema_version", kGateSchemaVersion);
    json.member("verdict", verdict_text(verdict.passed())).member("evaluated_at", verdict.at);
    write_policy(json, inputs.policy);
    write_list(json, inputs, verdict);
    json.open_object("subject");
    for (const auto& [name, value] : verdict.subject) json.member(name, value);
    json.close()
        .objects("runs", verdict.runs, write_evidence)
        .objects("rules", verdict.rules, write_gate_finding);
    json.objects("cells", verdict.cells, write_cell_verdict).close();
  });
  return text + '\n';
}

std::string gate_markdown(const GateInputs& inputs, const GateVerdict& verdict) {
  std::string out =
      fmt::format("# Gate: {}\n\nPolicy {} ({}), at {}.\n\n", headline(passed_or_failed(verdict.passed())),
                  plain(name_of_file(inputs.policy.file)), inputs.policy.sha256.substr(0, 12), verdict.at);
  out += "| cell | verdict | executed | runs |\n| --- | --- | --- | --- |\n";
  for (const GateCellVerdict& cell : verdict.cells) {
    out += fmt::format("| {} | {} | {} of {} | {} |\n", plain(cell.cell.name),
                       cell.passed() ? "passed" : "**failed**", cell.executed, cell.planned,
                       plain(joined(cell.runs, ", ")));
  }
  if (!verdict.passed()) {
    out += "\n## Failed rules\n\n";
    add_failed_rules(out, "all runs", verdict.rules);
    for (const GateCellVerdict& cell : verdict.cells) add_failed_rules(out, cell.cell.name, cell.rules);
  }
  if (!inputs.policy.relaxations.empty()) out += "\n## What the policy weakens\n\n";
  for (const GateRelaxation& relaxation : inputs.policy.relaxations) {
    out += fmt::format("* line {}: {} = {} (else: {})\n", relaxation.line, plain(relaxation.key),
                       plain(relaxation.value), plain(relaxation.strict));
  }
  if (!verdict.known_failures.empty()) out += "\n## Known failures\n\n";
  for (const GateEntryUse& entry : verdict.known_failures) {
    out += fmt::format("* {}: {} · {} · {} days left · {} cases\n", plain(entry.origin), plain(entry.cases),
                       plain(entry.owner), entry.days_left, entry.hits);
  }
  return out;
}

// The format is Statement v1 of https://github.com/in-toto/attestation, with a predicate of test results v0.1.
std::string gate_statement(const GateInputs& inputs, const GateVerdict& verdict) {
  std::string text = text_of([&](TextOutput& output) {
    JsonWriter json(output);
    const auto resource = [&json](const std::string& name, std::string_view algorithm,
                                  const std::string& digest) {
      json.open_object().member("name", name).open_object("digest").member(algorithm, digest).close().close();
    };
    json.open_object().member("_type", "https://in-toto.io/Statement/v1").open_array("subject");
    if (const auto commit = verdict.subject.find("commit"); commit != verdict.subject.end())
      resource("commit", "gitCommit", commit->second);
    for (const GateEvidence& run : verdict.runs) resource(run.run, "sha256", run.sha256);
    json.close()
        .member("predicateType", "https://in-toto.io/attestation/test-result/v0.1")
        .open_object("predicate");
    json.member("result", headline(passed_or_failed(verdict.passed()))).open_array("configuration");
    resource(name_of_file(inputs.policy.file), "sha256", inputs.policy.sha256);
    if (inputs.known_failures)
      resource(name_of_file(inputs.known_failures->file), "sha256", inputs.known_failures->sha256);
    json.close();
    for (const bool passed : {true, false}) {
      json.open_array(passed ? "passedTests" : "failedTests");
      const bool common = std::ranges::all_of(verdict.rules, &GateFinding::held);
      if (common == passed) json.item("all runs");
      for (const GateCellVerdict& cell : verdict.cells) {
        if (cell.passed() == passed) json.item(cell.cell.name);
      }
      json.close();
    }
    json.close().close();
  });
  return text + '\n';
}

std::string gate_text(const GateVerdict& verdict) {
  std::string out;
  if (!std::ranges::all_of(verdict.rules, &GateFinding::held)) out += "failed all runs\n";
  add_failed_text(out, verdict.rules);
  for (const GateCellVerdict& cell : verdict.cells) {
    out += fmt::format("{:<6} {}: {} of {} executed\n", verdict_text(cell.passed()),
                       in_one_line(cell.cell.name), cell.executed, cell.planned);
    add_failed_text(out, cell.rules);
  }
  const auto failed_cells =
      std::ranges::count_if(verdict.cells, [](const GateCellVerdict& cell) { return !cell.passed(); });
  const auto failed_rules = std::ranges::count(verdict.rules, false, &GateFinding::held);
  return fmt::format("{}gate {}: {}\n", out, headline(passed_or_failed(verdict.passed())),
                     gate_details(verdict.cells.size(), static_cast<std::size_t>(failed_cells),
                                  static_cast<std::size_t>(failed_rules)));
}

}  // namespace proctor
