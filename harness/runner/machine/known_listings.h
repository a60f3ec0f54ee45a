// Lists of cases that programs have printed, in a file. `proctor ctest cases` lists the cases of a suite and writes the
// file. Each test of CTest runs one of these cases. It reads the file, and does not start the program for its list.
//
// A list is valid only for the same command, variables, directory and file of the program (size, time, inode).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "harness/base/result.h"
#include "harness/plan/discovery.h"

namespace proctor {

// Returns the file of the lists of a configuration file; "": none.
inline std::string sibling_listings(const std::string& config_file) {
  return config_file.empty() ? "" : config_file + ".listings";
}

class KnownListings {
 public:
  using Run = std::function<Result<ListOutput>()>;

  // Returns no lists if the file does not exist or is not complete.
  static KnownListings read(const std::string& file);

  // Returns the known list. Otherwise calls `run` and keeps its list. `backend` is "" for a program that saw no device.
  Result<ListOutput> find_or(const ListCommand& command, const std::string& backend, const Run& run);

  Result<void> write(const std::string& file) const;

 private:
  std::map<std::string, ListOutput> listings_;
};

}  // namespace proctor
