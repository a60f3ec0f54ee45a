// What programs have listed, in a file. `proctor ctest cases` lists the cases of a suite and keeps the lists; each test of
// CTest, which runs one of these cases, reads them and does not start the program for its list.
//
// A list is known only for the same command, variables, directory and file of the program (size, time, inode).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "harness/base/result.h"
#include "harness/plan/discovery.h"

namespace proctor {

// The file of the suites of a configuration file. "": there is none.
inline std::string sibling_listings(const std::string& config_file) {
  return config_file.empty() ? "" : config_file + ".listings";
}

class KnownListings {
 public:
  using Run = std::function<Result<ListOutput>()>;

  // None are known if there is no such file, or if it is not complete.
  static KnownListings read(const std::string& file);

  // The known list, or that of `run`, which is then known. `backend`: "" for a program that saw no device.
  Result<ListOutput> find_or(const ListCommand& command, const std::string& backend, const Run& run);

  Result<void> write(const std::string& file) const;

 private:
  std::map<std::string, ListOutput> listings_;
};

}  // namespace proctor
