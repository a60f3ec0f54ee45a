// A fixture that runs the real `proctor` in a temporary directory and keeps its output, for tests of the command line.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/runner/machine/scratch.h"
#include "harness/testing/child.h"

namespace proctor::cli {

using testing_support::ChildOptions;
using testing_support::Ended;

class ProctorTest : public testing::Test {
 protected:
  void SetUp() override;

  // Runs `proctor ARGUMENTS` in directory().
  Ended proctor(const std::vector<std::string>& arguments, const ChildOptions& options = {});
  Ended run_child(const std::vector<std::string>& argv, const ChildOptions& options);

  const std::string& directory() const { return root_->path(); }
  std::string path(const std::string& name) const { return directory() + "/" + name; }
  void write(const std::string& name, const std::string& text, bool executable = false) const;
  std::string read(const std::string& name) const;
  // Waits until the file `name` contains `text` `times` times. Returns false after a minute.
  bool wait_for(const std::string& name, const std::string& text, int times = 1) const;

  static std::string program();  // returns the absolute path of proctor

 private:
  std::unique_ptr<ScratchRoot> root_;
};

}  // namespace proctor::cli
