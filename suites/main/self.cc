#include "suites/main/self.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/journal/child_protocol.h"

namespace proctor::suite {

std::vector<std::string> self_command() {
  const char* program = std::getenv(child::kSelfVariable);
  const char* launcher = std::getenv(child::kLauncherVariable);
  if (program == nullptr || launcher == nullptr) return {"/proc/self/exe"};
  auto words = nlohmann::json::parse(launcher).get<std::vector<std::string>>();
  words.emplace_back(program);
  return words;
}

}  // namespace proctor::suite
