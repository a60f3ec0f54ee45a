#include "harness/core/renamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/core/named_file.h"
#include "harness/core/text.h"
#include "harness/core/toml_reader.h"

namespace proctor {
namespace {

constexpr BuiltinRename kBuiltin[] = {
    {"kernels.cuda/Error.", "management.cuda/Error."},
    {"kernels.cuda/Fork.", "management.cuda/Fork."},
    {"kernels.cuda/Management.", "management.cuda/Management."},
    {"kernels.cuda/Reset.", "management.cuda/Reset."},
    {"kernels.cuda/Sensors.", "management.cuda/Sensors."},
    {"kernels.cuda/Sticky.", "management.cuda/Sticky."},
    {"kernels.xpu/Management.", "management.xpu/Management."},
    {"kernels.xpu/Sensors.", "management.xpu/Sensors."},
};

// A row that is added to a chain replaces what the older ones lead to.
constexpr bool overlap(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}
constexpr bool each_name_has_one_row() {
  for (const BuiltinRename& row : kBuiltin) {
    for (const BuiltinRename& other : kBuiltin) {
      if (overlap(row.from, other.to) || (&row != &other && overlap(row.from, other.from))) return false;
    }
  }
  return true;
}
static_assert(each_name_has_one_row(), "two rows have one old name, or a row leads to an old name");

// What the id is called by one step: by an entry, or else by the table.
using Entries = std::map<std::string, std::string, std::less<>>;
std::optional<std::string> next_name(const Entries& entries, std::string_view id) {
  if (const auto entry = entries.find(id); entry != entries.end()) return entry->second;
  for (const BuiltinRename& row : kBuiltin) {
    if (id.starts_with(row.from)) return std::string(row.to).append(id.substr(row.from.size()));
  }
  return std::nullopt;
}

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
    std::optional<std::string> name = entry.to;
    while (name && *name != entry.from) name = next_name(names_, *name);
    return name.has_value();
  }

  Entries names_;
};

}  // namespace

std::span<const BuiltinRename> builtin_renames() { return kBuiltin; }

std::vector<std::string> names_ever(std::string_view id) {
  std::vector<std::string> names = {std::string(id)};
  for (const BuiltinRename& row : kBuiltin) {
    if (id.starts_with(row.to)) names.push_back(std::string(row.from).append(id.substr(row.to.size())));
    if (id.starts_with(row.from)) names.push_back(std::string(row.to).append(id.substr(row.from.size())));
  }
  return names;
}

bool glob_match_ever(std::string_view pattern, std::string_view id) {
  if (glob_match(pattern, id)) return true;
  const auto matches = [&](std::string_view before, std::string_view after) {
    return id.starts_with(before) && glob_match(pattern, std::string(after).append(id.substr(before.size())));
  };
  return std::ranges::any_of(kBuiltin, [&](const BuiltinRename& row) {
    return matches(row.to, row.from) || matches(row.from, row.to);
  });
}

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
  const Result<std::string> text = read_typed_file(path);
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

std::string NamesToday::of(std::string_view id) const {
  std::string name(id);
  for (std::size_t steps = 0; steps <= 2 * names_.size(); ++steps) {  // between two entries at most one row
    std::optional<std::string> next = next_name(names_, name);
    if (!next) break;
    name = *std::move(next);
  }
  return name;
}

}  // namespace proctor
