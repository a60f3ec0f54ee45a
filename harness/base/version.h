// Versions of drivers and of Proctor, compared as dotted numbers: 22.9 < 22.43 = 22.43.0. Only the leading
// dotted number counts ("535.54.03-ubuntu1" is 535.54.3). A number may have any number of digits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// A version, as a list of numbers.
class Version {
 public:
  Version() = default;

  // Returns an error if the text does not begin with a digit.
  static Result<Version> parse(std::string_view text);

  // Returns -1, 0 or 1.
  friend int compare(const Version& a, const Version& b);

 private:
  std::vector<std::string> numbers_;  // without leading zeros; "" is zero
};

int compare(const Version& a, const Version& b);

// A range such as ">=22.43, <22.44": all conditions must hold. An empty range contains every version.
class VersionRange {
 public:
  static Result<VersionRange> parse(std::string_view text);
  bool contains(const Version& version) const;
  bool empty() const { return conditions_.empty(); }

 private:
  struct Condition {
    std::string op;
    Version version;
  };
  std::vector<Condition> conditions_;
};

}  // namespace proctor
