#include "harness/plan/known_failures.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/text.h"
#include "harness/core/toml_reader.h"

namespace proctor {

namespace {

std::vector<std::string> outcomes_of_failures() {
  std::vector<std::string> names;
  for (Outcome outcome : {Outcome::kFail, Outcome::kError, Outcome::kTimeout, Outcome::kStall,
                          Outcome::kCrash, Outcome::kDeviceLost}) {
    names.emplace_back(to_string(outcome));
  }
  return names;
}

void read_driver(TableReader& reader, KnownFailure& entry) {
  std::optional<std::string> versions;
  reader.read("driver", entry.driver);
  reader.read("versions", versions);
  if (entry.driver.empty() == !versions.has_value()) {
    if (!versions) return;
    Result<VersionRange> range = VersionRange::parse(*versions);
    if (!range) return reader.fail("versions", "cannot " + range.error().what, range.error().hint);
    entry.versions = std::move(*range);
    return;
  }
  reader.fail(versions ? "versions" : "driver", "`driver` and `versions` belong together",
              "Write driver = \"xpu.driver\" and versions = \">=22.43, <22.44\".");
}

void read_expiry(TableReader& reader, KnownFailure& entry) {
  const toml::node* node = reader.node("expires");
  if (node == nullptr) return;
  const auto* date = node->as_date();
  if (date == nullptr) {
    return reader.fail(
        "expires", fmt::format("`expires` in [[known_failure]] is {}, but must be a date", value_text(*node)),
        "Write expires = 2027-06-30, without quotes.");
  }
  const toml::date& day = date->get();
  entry.expires = Day(std::chrono::year(day.year), std::chrono::month(day.month), std::chrono::day(day.day));
}

Result<KnownFailure> read_entry(const toml::table& table, const std::string& file) {
  TableReader reader(file, table, "[[known_failure]]",
                     {"case", "outcome", "reason", "driver", "versions", "source", "owner", "expires"});
  KnownFailure entry;
  for (const char* key : {"case", "reason", "source", "expires"}) reader.require(key);
  reader.read("case", entry.case_glob);
  std::optional<std::string> outcome;
  reader.read_choice("outcome", outcome, outcomes_of_failures());
  if (outcome) entry.outcome = *parse_outcome(*outcome);
  reader.read("reason", entry.reason_glob);
  reader.read("source", entry.source);
  reader.read("owner", entry.owner);
  read_driver(reader, entry);
  read_expiry(reader, entry);
  entry.origin = position(file, table);
  if (reader.error()) return *reader.error();
  return entry;
}

bool holds_on(const KnownFailure& entry, const std::map<std::string, std::string>& stack) {
  if (entry.driver.empty()) return true;
  const auto found = stack.find(entry.driver);
  if (found == stack.end()) return false;
  const Result<Version> version = Version::parse(found->second);
  return version && entry.versions.contains(*version);
}

std::string day_text(Day day) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace

std::optional<KnownFailure> KnownFailures::match(std::string_view case_id,
                                                 const std::map<std::string, std::string>& stack,
                                                 Day today) const {
  for (const KnownFailure& entry : entries_) {
    if (today <= entry.expires && glob_match(entry.case_glob, case_id) && holds_on(entry, stack))
      return entry;
  }
  return std::nullopt;
}

std::vector<Warning> KnownFailures::warnings(const std::vector<std::string>& planned_ids, Day today) const {
  std::vector<Warning> found;
  for (const KnownFailure& entry : entries_) {
    const bool matches = std::any_of(planned_ids.begin(), planned_ids.end(),
                                     [&](const std::string& id) { return glob_match(entry.case_glob, id); });
    if (!matches) {
      found.push_back({"known_failure_unused", fmt::format("{}: known failure `{}` matches no planned case",
                                                           entry.origin, entry.case_glob)});
    } else if (today > entry.expires) {
      found.push_back(
          {"known_failure_expired", fmt::format("{}: known failure `{}` expired on {} and no longer counts",
                                                entry.origin, entry.case_glob, day_text(entry.expires))});
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
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  return parse_known_failures(*text, path);
}

Verdict apply(const KnownFailure* known, const Verdict& verdict) {
  if (known == nullptr) return verdict;
  if (verdict.outcome == Outcome::kPass) return {Outcome::kXpass, verdict.reason};
  if (verdict.outcome != known->outcome || !glob_match(known->reason_glob, verdict.reason)) return verdict;
  return {Outcome::kXfail, verdict.reason.empty() ? std::string(to_string(verdict.outcome)) : verdict.reason};
}

Day today_utc() { return Day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())); }

}  // namespace proctor
