#include "reports/model/renamed.h"

#include <fmt/format.h>

#include "harness/core/toml_reader.h"

namespace proctor {
namespace {

Error refused(const std::string& file, const toml::table& entry, const std::string& why,
              const std::string& hint = {}) {
  return toml_error(file, entry.source(), why, hint);
}

Result<Rename> read_entry(const toml::table& table, const std::string& file) {
  TableReader reader(file, table, "[[renamed]]", {"from", "to"});
  Rename entry;
  for (const char* key : {"from", "to"}) reader.require(key);
  reader.read("from", entry.from);
  reader.read("to", entry.to);
  if (reader.error()) return *reader.error();
  if (entry.from.empty() || entry.to.empty()) return refused(file, table, "a case has no empty name");
  return entry;
}

// Whether the names that `entry` leads to lead back to it; `earlier` do not.
bool leads_back(const std::map<std::string, std::string>& earlier, const Rename& entry) {
  std::string name = entry.to;
  for (auto next = earlier.find(name); next != earlier.end() && name != entry.from;
       next = earlier.find(name)) {
    name = next->second;
  }
  return name == entry.from;
}

}  // namespace

Result<std::vector<Rename>> parse_renames(std::string_view text, const std::string& name) {
  const Result<toml::table> root = parse_toml(text, name);
  if (!root) return root.error();
  TableReader top(name, *root, "the top level", {"renamed"});
  std::vector<Rename> entries;
  std::map<std::string, std::string> earlier;
  for (const toml::table* table : top.tables("renamed")) {
    Result<Rename> entry = read_entry(*table, name);
    if (!entry) return entry.error();
    const auto [there, is_new] = earlier.try_emplace(entry->from, entry->to);
    if (!is_new) {
      return refused(name, *table,
                     fmt::format("`{}` was renamed to `{}` already", entry->from, there->second),
                     "A case has one new name; one that was renamed again has an entry from that name on.");
    }
    earlier.erase(there);
    if (leads_back(earlier, *entry))
      return refused(name, *table, fmt::format("`{}` leads back to itself", entry->from));
    earlier.emplace(entry->from, entry->to);
    entries.push_back(*std::move(entry));
  }
  if (top.error()) return *top.error();
  return entries;
}

Result<std::vector<Rename>> load_renames(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  return parse_renames(*text, path);
}

NamesToday::NamesToday(const std::vector<Rename>& renamed) {
  for (const Rename& entry : renamed) names_.emplace(entry.from, entry.to);
}

std::string_view NamesToday::of(std::string_view id) const {
  for (auto next = names_.find(id); next != names_.end(); next = names_.find(id)) id = next->second;
  return id;
}

}  // namespace proctor
