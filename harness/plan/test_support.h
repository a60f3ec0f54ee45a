// Shared helpers of the tests in harness/plan: scratch directories, and a runner of real listing commands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/temp_dir.h"
#include "harness/plan/discovery.h"

namespace proctor::testing_support {

// A directory for files of a test, which is removed at the end of the scope.
class ScratchDirectory {
 public:
  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view text) const;
  std::string write_script(const std::string& name, std::string_view body) const;  // #!/bin/sh; executable

 private:
  TempDir directory_;
  std::string path_ = directory_.string();
};

// Runs the command and waits for its end. Its stdout, stderr and events (descriptor 3) go to files.
Result<ListOutput> run_listing(const ListCommand& command);

// A runner for tests in which no program may be started. It returns an internal error.
Result<ListOutput> refuse_to_run(const ListCommand& command);

// Returns the path of the built sample_gtest program.
std::string sample_gtest();
// Returns the program of testdata/listener_gtest.cc, which contains Proctor's listener.
std::string listener_gtest();
// Returns the program of testdata/sample_benchmark.cc, or "" without Google Benchmark.
std::string sample_benchmark();

}  // namespace proctor::testing_support
