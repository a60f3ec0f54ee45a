#include "reports/model/renamed.h"

#include <fmt/format.h>

#include "harness/core/toml_reader.h"

namespace proctor {
namespace {

Result<Rename> read_entry(const toml::table& table, const std::string& file) {
  TableReader reader(file, table, "[[renamed]]", {"from", "to"});
  Rename entry;
  for (const char* key : {"from", "to"}) reader.require(key);
  reader.read("from", entry.from);
  reader.read("to", entry.to);
  if (reader.error()) return *reader.error();
  return entry;
}

// Entries that say one thing together: none that was added leads back to itself, so whoever follows them comes to an end.
class Renames {
 public:
  // "", or why the entry cannot be among them.
  std::string why_not(const Rename& entry) const {
    if (entry.from.empty() || entry.to.empty()) return "a case has no empty name";
    const auto there = names_.find(entry.from);
    if (there != names_.end() && there->second != entry.to)
      return fmt::format("`{}` was renamed to `{}` already", entry.from, there->second);
    return leads_back(entry) ? fmt::format("`{}` leads back to itself", entry.from) : "";
  }
  // False: it is among them.
  bool add(const Rename& entry) { return names_.emplace(entry.from, entry.to).second; }

 private:
  bool leads_back(const Rename& entry) const {
    const std::string* name = &entry.to;
    for (auto next = names_.find(*name); next != names_.end() && *name != entry.from;
         next = names_.find(*name)) {
      name = &next->second;
    }
    return *name == entry.from;
  }

  std::map<std::string, std::string> names_;
};

}  // namespace

Result<std::vector<Rename>> parse_renames(std::string_view text, const std::string& name) {
  const Result<toml::table> root = parse_toml(text, name);
  if (!root) return root.error();
  TableReader top(name, *root, "the top level", {"renamed"});
  std::vector<Rename> entries;
  Renames renames;
  for (const toml::table* table : top.tables("renamed")) {
    Result<Rename> entry = read_entry(*table, name);
    if (!entry) return entry.error();
    if (const std::string why = renames.why_not(*entry); !why.empty()) {
      return toml_error(
          name, table->source(), why,
          "A case has one new name; one that was renamed again has an entry from that name on.");
    }
    if (renames.add(*entry)) entries.push_back(*std::move(entry));
  }
  if (top.error()) return *top.error();
  return entries;
}

Result<std::vector<Rename>> load_renames(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  return parse_renames(*text, path);
}

Result<std::vector<Rename>> join_renames(const std::vector<Rename>& known, const std::vector<Rename>& more) {
  Renames renames;
  std::vector<Rename> joined;
  for (const std::vector<Rename>* entries : {&known, &more}) {
    for (const Rename& entry : *entries) {
      if (const std::string why = renames.why_not(entry); !why.empty())
        return Error::usage("join what cases were renamed to: " + why);
      if (renames.add(entry)) joined.push_back(entry);
    }
  }
  return joined;
}

NamesToday::NamesToday(const std::vector<Rename>& renamed) {
  for (const Rename& entry : renamed) names_.emplace(entry.from, entry.to);
}

std::string_view NamesToday::of(std::string_view id) const {
  auto next = names_.find(id);
  for (std::size_t steps = 0; next != names_.end() && steps < names_.size(); ++steps) {
    id = next->second;
    next = names_.find(id);
  }
  return id;
}

}  // namespace proctor
