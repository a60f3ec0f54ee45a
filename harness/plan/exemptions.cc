#include "harness/plan/exemptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/plan/toml_reader.h"

namespace proctor {

Result<std::vector<Exemption>> parse_exemptions(std::string_view text, const std::string& name) {
  const auto root = parse_toml(text, name);
  if (!root) return root.error();
  TableReader top(name, *root, "the top level", {"exempt"});
  std::vector<Exemption> exemptions;
  for (const toml::table* table : top.tables("exempt")) {
    TableReader reader(name, *table, "[[exempt]]", {"check", "reason"});
    Exemption entry;
    for (const char* key : {"check", "reason"}) reader.require(key);
    reader.read("check", entry.check);
    reader.read("reason", entry.reason);
    if (!reader.error() && entry.reason.empty()) reader.fail("reason", "`reason` in [[exempt]] is empty");
    const bool twice = std::any_of(exemptions.begin(), exemptions.end(),
                                   [&](const Exemption& known) { return known.check == entry.check; });
    if (!reader.error() && twice) reader.fail("check", fmt::format("{} is exempt twice", entry.check));
    if (reader.error()) return *reader.error();
    exemptions.push_back(std::move(entry));
  }
  if (top.error()) return *top.error();
  if (exemptions.size() > kMaxExemptions) {
    return Error::usage(fmt::format("read {}: {} checks are exempt, at most {} may be", name,
                                    exemptions.size(), kMaxExemptions));
  }
  return exemptions;
}

Result<std::vector<Exemption>> load_exemptions(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  return parse_exemptions(*text, path);
}

}  // namespace proctor
