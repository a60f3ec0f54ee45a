// Cases that share something, such as a licence, a port or a large buffer of the host: of a group, only so many run at once
// in a run.
//
//   [group.licence]
//   max = 2
//
//   [suite.solver]
//   group = "licence"       # also in [defaults], [[override]] and [profile.NAME]; "off": none
//
// This is not Case::group, which are the cases that share a process. Such a process counts as one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/toml_reader.h"

namespace proctor {

// The value of `group` that means none, which no group can have as its name.
inline constexpr std::string_view kNoConcurrencyGroup = "off";

// The groups of the configuration files, and the tables that name them.
class ConcurrencyGroups {
 public:
  // The table [group.NAME] at `origin`. A later file replaces a group of the same name.
  void read_group(TableReader& reader, const std::string& name, const std::string& origin);
  // The key `group` of a table. "" where it is "off".
  void read_key(TableReader& reader, const std::string& file, std::optional<std::string>& group);

  // A name without a group, or a group without members. It is known when all files are read.
  std::optional<Error> problem() const;

  // name -> how many may run at once
  std::map<std::string, int> limits() const;

 private:
  struct Definition {
    int max = 0;
    std::string origin;  // "proctor.toml:3"
  };
  struct Use {
    std::string name;
    std::string origin;
  };
  std::map<std::string, Definition> definitions_;
  std::vector<Use> uses_;
};

// The keys of [group.NAME].
const std::vector<std::string>& concurrency_group_keys();

}  // namespace proctor
