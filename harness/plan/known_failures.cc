#include "harness/plan/known_failures.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/named_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"

namespace proctor {

namespace {

constexpr const char* kNeeded =
    "An entry needs at least case = \"memory.xpu/Copy.*\", reason = \"*\", expires = 2027-06-30, and a "
    "source "
    "or an "
    "issue.";

std::vector<std::string> names_of_outcomes() {
  std::vector<std::string> names;
  for (const Outcome outcome : outcomes_of_failures()) names.emplace_back(to_string(outcome));
  return names;
}

void read_cases(TableReader& reader, KnownFailure& entry) {
  const toml::node* node = reader.wanted("case");
  if (node == nullptr) return;
  if (!node->is_array()) {
    reader.read("case", entry.cases.emplace_back());
    return;
  }
  std::optional<std::vector<std::string>> list;
  reader.read("case", list);
  if (list && list->empty())
    return reader.fail("case", "`case` in [[known_failure]] is an empty list",
                       "Write at least one id, or a glob over the ids.");
  if (list) entry.cases = *std::move(list);
}

void read_driver(TableReader& reader, KnownFailure& entry) {
  std::optional<std::string> versions;
  reader.read("driver", entry.driver);
  reader.read("versions", versions);
  if (entry.driver.empty() == !versions.has_value()) {
    if (!versions) return;
    Result<VersionRange> range = VersionRange::parse(*versions);
    if (!range) return reader.fail("versions", "failed to " + range.error().what, range.error().hint);
    entry.versions = std::move(*range);
    return;
  }
  reader.fail(versions ? "versions" : "driver", "`driver` and `versions` must be given together",
              "Write driver = \"xpu.driver\" and versions = \">=22.43, <22.44\".");
}

Result<KnownFailure> read_entry(const toml::table& table, const std::string& file) {
  TableReader reader(file, table, "[[known_failure]]",
                     {"case", "outcome", "reason", "backend", "device", "driver", "versions", "source",
                      "issue", "owner", "added", "expires", "broad", "predicted"});
  KnownFailure entry;
  std::vector<std::string> needed = {"case", "reason", "expires"};
  if (reader.node("issue") == nullptr) needed.emplace_back("source");
  reader.require(needed, kNeeded);
  read_cases(reader, entry);
  std::optional<std::string> outcome;
  std::optional<std::string> backend;
  reader.read_choice("outcome", outcome, names_of_outcomes());
  if (outcome) entry.outcome = *parse_outcome(*outcome);
  reader.read("reason", entry.reason_glob);
  reader.read_choice("backend", backend, {"cuda", "xpu", "none"});
  entry.backend = backend.value_or("");
  reader.read("device", entry.device);
  reader.read("source", entry.source);
  reader.read("issue", entry.issue);
  reader.read("owner", entry.owner);
  reader.read("broad", entry.broad);
  reader.read("predicted", entry.predicted);
  read_driver(reader, entry);
  std::optional<Day> expires;
  reader.read("added", entry.added);
  reader.read("expires", expires);
  entry.expires = expires.value_or(Day{});
  entry.origin = position(file, table);
  entry.line = static_cast<int>(table.source().begin.line);
  if (entry.source.empty()) entry.source = entry.issue;
  if (reader.error()) return *reader.error();
  return entry;
}

bool has_driver(const KnownFailure& entry, const Surroundings& where) {
  if (entry.driver.empty()) return true;
  const auto found = where.stack.find(entry.driver);
  if (found == where.stack.end()) return false;
  const Result<Version> version = Version::parse(found->second);
  return version && entry.versions.contains(*version);
}

bool holds(const KnownFailure& entry, const Surroundings& where) {
  const bool on_device =
      entry.device.empty() || std::ranges::any_of(where.models, [&](const std::string& model) {
        return glob_match(entry.device, model);
      });
  return (entry.backend.empty() || entry.backend == where.backend) && on_device && has_driver(entry, where);
}

}  // namespace

bool KnownFailure::names(std::string_view case_id) const {
  return std::ranges::any_of(cases, [&](const std::string& glob) { return glob_match(glob, case_id); });
}

std::string KnownFailure::cases_text() const {
  std::string text = "`" + cases.front() + "`";
  if (cases.size() > 1) text += fmt::format(" and {} more", cases.size() - 1);
  return text;
}

KnownFailureEntry to_event(const KnownFailure& entry) {
  return {.at = entry.origin,
          .cases = entry.cases,
          .source = entry.source,
          .issue = entry.issue,
          .owner = entry.owner,
          .added = entry.added ? day_text(*entry.added) : "",
          .expires = day_text(entry.expires)};
}

const std::vector<Outcome>& outcomes_of_failures() {
  static const std::vector<Outcome> kOutcomes = {Outcome::kFail,  Outcome::kError, Outcome::kTimeout,
                                                 Outcome::kStall, Outcome::kCrash, Outcome::kDeviceLost};
  return kOutcomes;
}

const KnownFailure* KnownFailures::match(std::string_view case_id, const Surroundings& where,
                                         Day today) const {
  for (const KnownFailure& entry : entries_) {
    if (today <= entry.expires && entry.names(case_id) && holds(entry, where)) return &entry;
  }
  return nullptr;
}

std::vector<Warning> KnownFailures::warnings(const std::vector<std::string>& planned_ids, Day today) const {
  std::vector<Warning> found;
  for (const KnownFailure& entry : entries_) {
    const bool matches =
        std::ranges::any_of(planned_ids, [&](const std::string& id) { return entry.names(id); });
    if (!matches) {
      found.push_back(
          {WarningCode::kKnownFailureUnused,
           fmt::format("{}: known failure {} matches no planned case", entry.origin, entry.cases_text())});
    } else if (today > entry.expires) {
      found.push_back({WarningCode::kKnownFailureExpired,
                       fmt::format("{}: known failure {} expired on {} and no longer counts", entry.origin,
                                   entry.cases_text(), day_text(entry.expires))});
    }
  }
  return found;
}

Result<KnownFailures> parse_known_failures(std::string_view text, const std::string& name) {
  const Result<toml::table> root = parse_toml(text, name);
  if (!root) return root.error();
  TableReader top(name, *root, "the top level", {"known_failure"});
  std::vector<KnownFailure> entries;
  for (const toml::table* table : top.tables("known_failure")) {
    Result<KnownFailure> entry = read_entry(*table, name);
    if (!entry) return entry.error();
    entries.push_back(std::move(*entry));
  }
  if (top.error()) return *top.error();
  return KnownFailures(std::move(entries));
}

Result<KnownFailures> load_known_failures(const std::string& path) {
  const Result<std::string> text = read_typed_file(path);
  if (!text) return text.error();
  return parse_known_failures(*text, path);
}

Verdict apply(const KnownFailure* known, const Verdict& verdict) {
  if (known == nullptr) return verdict;
  if (verdict.outcome == Outcome::kPass)
    return known->predicted ? verdict : Verdict{Outcome::kXpass, verdict.reason};
  if (verdict.outcome != known->outcome || !glob_match(known->reason_glob, verdict.reason.text()))
    return verdict;
  return {Outcome::kXfail,
          verdict.reason.empty() ? reason_in_words(std::string(to_string(verdict.outcome))) : verdict.reason};
}

std::string unmet_prediction(const KnownFailure* known, const Verdict& verdict, std::string_view case_id,
                             const Surroundings& where) {
  if (known == nullptr || !known->predicted || verdict.outcome != Outcome::kPass) return {};
  const auto driver = where.stack.find(known->driver);
  const std::string with =
      driver == where.stack.end() ? "" : fmt::format(" on {} {}", driver->first, driver->second);
  return fmt::format("{}: the failure that {} predicts did not happen{}. Please report this result{} ({})",
                     case_id, known->origin, with, known->owner.empty() ? "" : " to " + known->owner,
                     known->issue.empty() ? known->source : known->issue);
}

Day today_utc() { return Day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())); }

}  // namespace proctor
