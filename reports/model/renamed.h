// Cases that were given another name. Without a word about it such a case disappears, and another one appears; an entry
// joins what came before with what came after:
//
//   [[renamed]]
//   from = "memory.xpu/Copy.Odd"                          # the whole id, as it was
//   to   = "memory.xpu/Copy.OddAddressesAreByteExact"     # and as it is
//
// A case may be renamed again, by an entry of its own. One `from` with two new names, and names that lead back to
// themselves, are refused.
#pragma once

#include <map>
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

Result<std::vector<Rename>> load_renames(const std::string& path);
// `name` stands for the file in messages.
Result<std::vector<Rename>> parse_renames(std::string_view text, const std::string& name);

// Both, each entry once. Two that contradict each other are refused, and names that lead back to themselves.
Result<std::vector<Rename>> join_renames(const std::vector<Rename>& known, const std::vector<Rename>& more);

// What each case is called today. Example:
//
//   const NamesToday today({{"a/One", "a/First"}, {"a/First", "a/1"}});
//   const std::string name(today.of("a/One"));  // "a/1"
class NamesToday {
 public:
  // Of entries that were read or joined above: nothing leads back to itself.
  explicit NamesToday(const std::vector<Rename>& renamed = {});

  // The answer lives as long as both the object and the text that was given.
  std::string_view of(std::string_view id) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace proctor
