#include "harness/stack/lock_edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/stack/lock.h"

namespace proctor {
namespace {

const toml::table* find_entry(const toml::table& root, const LockEntry& entry) {
  if (const toml::table* only = root[entry.table].as_table()) return only;
  const toml::array* array = root[entry.table].as_array();
  const char* key = entry.table == "base" ? "flavour" : "name";
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (table != nullptr && (*table)[key].value<std::string>() == entry.name) return table;
  }
  return nullptr;
}

// Where the values of an entry stand: its last line, and the column of its equals signs.
struct KeyPosition {
  std::size_t last_line = 0;
  std::size_t column = 0;
};

KeyPosition position_of(const toml::table& table, const std::vector<std::string_view>& lines) {
  KeyPosition position;
  for (const auto& [key, value] : table) {
    const std::size_t line = key.source().begin.line;
    position.last_line = std::max<std::size_t>(position.last_line, value.source().end.line);
    position.column = std::max(position.column, lines[line - 1].find('='));
  }
  return position;
}

// All of them speak of the lines as they are before any edit.
struct Edit {
  std::size_t line = 0;  // 1..
  bool erase = false;
  std::string insert_after{};
};

Result<void> plan_edits(const toml::table& root, const std::vector<std::string_view>& lines,
                        const LockChange& change, std::vector<Edit>& edits) {
  const toml::table* table = find_entry(root, change.entry);
  if (table == nullptr)
    return Error::internal(
        fmt::format("find the entry {} {} in the lock", change.entry.table, change.entry.name));
  if (table->is_inline())
    return Error::usage(fmt::format("edit `{}` of the lock: it is an inline table", change.entry.table),
                        fmt::format("Write it as a table: [{}].", change.entry.table));
  if (change.verified) {
    for (const auto& [key, value] : *table) {
      if (key.str() == "unverified") edits.push_back({.line = key.source().begin.line, .erase = true});
    }
  }
  if (change.key.empty()) return {};
  if (table->contains(change.key))
    return Error::internal(fmt::format("fill {}: the lock has a value", change.key));
  const KeyPosition position = position_of(*table, lines);
  std::string key = change.key;
  key.resize(std::max(key.size() + 1, position.column), ' ');
  // Behind the last value that stays.
  std::size_t line = position.last_line;
  while (line > 1 && change.verified && lines[line - 1].starts_with("unverified")) --line;
  edits.push_back({.line = line, .insert_after = fmt::format("{}= \"{}\"", key, change.value)});
  return {};
}

}  // namespace

Result<std::string> change_lock(std::string_view text, const std::string& file,
                                const std::vector<LockChange>& changes) {
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<Edit> edits;
  for (const auto& change : changes) {
    if (const auto planned = plan_edits(*root, lines, change, edits); !planned) return planned.error();
  }
  std::string changed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool keep = true;
    std::string after;
    for (const auto& edit : edits) {
      if (edit.line != i + 1) continue;
      keep = keep && !edit.erase;
      if (!edit.insert_after.empty()) after += edit.insert_after + "\n";
    }
    if (keep) changed += std::string(lines[i]) + "\n";
    changed += after;
  }
  const auto lock = parse_stack_lock(changed, file);
  if (!lock) return lock.error();
  return changed;
}

}  // namespace proctor
