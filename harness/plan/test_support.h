// What the tests of this module share: scratch directories and a runner of real listing commands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/temp_dir.h"
#include "harness/plan/discovery.h"

namespace proctor::testing_support {

class ScratchDirectory {
 public:
  const std::string& path() const { return path_; }
  // Both return the path of the new file.
  std::string write(const std::string& name, std::string_view text) const;
  std::string write_script(const std::string& name, std::string_view body) const;  // #!/bin/sh, executable

 private:
  TempDir directory_;
  std::string path_ = directory_.string();
};

// Starts the command with its stdout, stderr and events (descriptor 3) in files, and waits for it.
Result<ListOutput> run_listing(const ListCommand& command);

// A runner for tests in which nothing may be started.
Result<ListOutput> refuse_to_run(const ListCommand& command);

// The built sample_gtest program.
std::string sample_gtest();
// The program of testdata/listener_gtest.cc, which has our listener.
std::string listener_gtest();
// The program of testdata/sample_benchmark.cc; "" without Google Benchmark.
std::string sample_benchmark();

}  // namespace proctor::testing_support
