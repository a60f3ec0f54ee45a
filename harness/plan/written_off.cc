#include "harness/plan/written_off.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr const char* kNeededOfSkip =
    "An entry needs case = \"attention/Moe*\", reason = \"waits for driver 580\", owner = \"jane\" and "
    "expires = 2027-03-01.";

// Reads a text that must contain a visible character.
void read_words(TableReader& reader, const char* key, std::string& out) {
  reader.declare(key, R"({"type": "string", "pattern": "[^ \\t\\n\\v\\f\\r]"})");
  reader.read(key, out);
  out = std::string(trimmed(out));
  if (reader.wanted(key) != nullptr && out.empty())
    reader.fail(key, fmt::format("`{}` in [[skip]] is empty", key), kNeededOfSkip);
}

bool is_about(const WrittenOff& entry, const Case& test) {
  return !is_unlisted(test) && glob_match(entry.cases, test.id);
}

Warning expiry_of(const WrittenOff& entry) {
  return {WarningCode::kSkipExpired,
          fmt::format("{}: skip of `{}` ({}, {}) expired on {}; its cases run", entry.origin, entry.cases,
                      entry.reason, entry.owner, day_text(entry.expires))};
}

}  // namespace

std::string WrittenOff::text() const {
  return fmt::format("{} ({}, until {})", reason, owner, day_text(expires));
}

const std::vector<std::string>& written_off_keys() {
  static const std::vector<std::string> keys = {"case", "expires", "owner", "reason"};
  return keys;
}

WrittenOff read_written_off(TableReader& reader, const std::string& origin) {
  WrittenOff entry{.origin = origin};
  reader.require({"case", "reason", "owner", "expires"}, kNeededOfSkip);
  read_words(reader, "case", entry.cases);
  read_words(reader, "reason", entry.reason);
  read_words(reader, "owner", entry.owner);
  std::optional<Day> expires;
  reader.read("expires", expires);
  entry.expires = expires.value_or(Day{});
  return entry;
}

std::vector<Warning> write_off(const std::vector<WrittenOff>& entries, Day today, std::vector<Case>& cases) {
  std::vector<Warning> warnings;
  for (const WrittenOff& entry : entries) {
    const auto concerns = [&entry](const Case& test) { return is_about(entry, test); };
    if (!entry.holds_on(today)) {
      if (std::ranges::any_of(cases, concerns)) warnings.push_back(expiry_of(entry));
      continue;
    }
    const auto shared = std::make_shared<const WrittenOff>(entry);
    for (Case& test : cases) {
      if (test.config_skip == nullptr && concerns(test)) test.config_skip = shared;
    }
  }
  return warnings;
}

std::vector<Warning> take_back_expired(Day today, std::vector<Case>& cases) {
  std::vector<Warning> warnings;
  std::set<std::string> reported;
  for (Case& test : cases) {
    if (test.config_skip == nullptr || test.config_skip->holds_on(today)) continue;
    if (reported.insert(test.config_skip->origin).second) warnings.push_back(expiry_of(*test.config_skip));
    test.config_skip.reset();
  }
  return warnings;
}

std::vector<NarrowingOption> narrowing_of_skips(const std::vector<Case>& cases) {
  std::vector<NarrowingOption> options;
  std::set<std::string> reported;
  for (const Case& test : cases) {
    if (test.config_skip == nullptr || !reported.insert(test.config_skip->origin).second) continue;
    options.push_back({"[[skip]]", test.config_skip->cases, std::string(kCoveredByRule)});
  }
  return options;
}

std::map<std::string, std::string> to_members(const WrittenOff& entry) {
  return {{"case", entry.cases},
          {"reason", entry.reason},
          {"owner", entry.owner},
          {"expires", day_text(entry.expires)},
          {"origin", entry.origin}};
}

Result<WrittenOff> written_off_of(const std::map<std::string, std::string>& members) {
  const auto text = [&members](const char* name) {
    const auto found = members.find(name);
    return found == members.end() ? std::string() : found->second;
  };
  WrittenOff entry{
      .cases = text("case"), .reason = text("reason"), .owner = text("owner"), .origin = text("origin")};
  const auto expires = parse_day(text("expires"));
  if (!expires || entry.reason.empty() || entry.owner.empty())
    return Error::usage("a case is written off without a reason, an owner or an end");
  entry.expires = *expires;
  return entry;
}

}  // namespace proctor
