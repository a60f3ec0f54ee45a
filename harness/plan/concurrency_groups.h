// Concurrency groups of a run. Cases that share a resource, such as a licence, a port or a large buffer of
// the host, name a group. At most `max` processes with cases of the group run at once.
//
//   [group.licence]
//   max = 2
//
//   [suite.solver]
//   group = "licence"       # also in [defaults], [[override]] and [profile.NAME]; "off": none
//
// Case::group is a different concept: the cases that share a process. Such a process counts as one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/toml_reader.h"

namespace proctor {

// The value of `group` that means no group. A group cannot have this name.
inline constexpr std::string_view kNoConcurrencyGroup = "off";

// Collects the groups of the configuration files, and the tables that name them.
class ConcurrencyGroups {
 public:
  // Reads the table [group.NAME] at `origin`. A later file replaces a group of the same name.
  void read_group(TableReader& reader, const std::string& name, const std::string& origin);
  // Reads the key `group` of a table. The value "off" is read as "".
  void read_key(TableReader& reader, const std::string& file, std::optional<std::string>& group);

  // Returns an error for a name without a group, or a group without members. The result is valid after all
  // files are read.
  std::optional<Error> problem() const;

  // Returns the map: name -> number of processes that may run at once.
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
