// Cases that were given another name. Without a word about it such a case disappears, and another one appears; an entry
// joins what came before with what came after:
//
//   [[renamed]]
//   from = "memory.xpu/Copy.Odd"                          # the whole id, as it was
//   to   = "memory.xpu/Copy.OddAddressesAreByteExact"     # and as it is
//
// A case may be renamed again, by an entry of its own. One `from` with two new names, and names that lead back to
// themselves, are refused.
//
// Cases of built-in suites that were renamed need no entry: builtin_renames() has them, and applies everywhere. What is
// written with an old name (on a command line, in a plan, a list or a history) counts for the case as it is called today.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

struct Rename {
  std::string from{};
  std::string to{};

  friend bool operator==(const Rename&, const Rename&) = default;
};

// All ids that began with `from` begin with `to` today, and go on as before. Nothing that a row leads to is in another row.
struct BuiltinRename {
  std::string_view from{};
  std::string_view to{};
};
std::span<const BuiltinRename> builtin_renames();

// The id itself, and every other name that a case of a built-in suite had or has by builtin_renames().
std::vector<std::string> names_ever(std::string_view id);
// Whether the pattern matches one of them.
bool glob_match_ever(std::string_view pattern, std::string_view id);

Result<std::vector<Rename>> load_renames(const std::string& path);
// `name` stands for the file in messages.
Result<std::vector<Rename>> parse_renames(std::string_view text, const std::string& name);

// Both, each entry once. Two that contradict each other are refused, and names that lead back to themselves.
Result<std::vector<Rename>> join_renames(const std::vector<Rename>& known, const std::vector<Rename>& more);

// What each case is called today, by entries and by builtin_renames(). An entry counts before them. Example:
//
//   const NamesToday today({{"a/One", "a/First"}, {"a/First", "a/1"}});
//   const std::string name = today.of("a/One");  // "a/1"
class NamesToday {
 public:
  // Of entries that were read or joined above: nothing leads back to itself.
  explicit NamesToday(const std::vector<Rename>& renamed = {});

  std::string of(std::string_view id) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace proctor
