// The fixture of the configuration tests. It has a project file and a user file in a scratch directory.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/plan/config.h"
#include "harness/plan/test_support.h"

namespace proctor {

inline const std::vector<BuiltinSuite> kBuiltins = {{.name = "visibility",
                                                     .backend = Backend::kXpu,
                                                     .command = {"bin/visibility_xpu"},
                                                     .labels = {},
                                                     .env = {}}};

// Loads configurations from texts.
class ConfigTest : public testing::Test {
 protected:
  Result<Config> load(const std::string& project = "", const std::string& user = "",
                      const LimitOptions& limits = {}, const std::string& profile = "") {
    ConfigOptions where{scratch_.path(), "", "", profile};
    if (!project.empty()) scratch_.write("proctor.toml", project);
    if (!user.empty()) where.user_file = scratch_.write("home/proctor.toml", user);
    return load_config(where, limits, kBuiltins);
  }

  const SuiteConfig& suite(const Config& config, const std::string& name) {
    for (const SuiteConfig& found : config.suites) {
      if (found.suite.name == name) return found;
    }
    throw std::runtime_error("no suite " + name);
  }

  testing_support::ScratchDirectory scratch_;
};

}  // namespace proctor
