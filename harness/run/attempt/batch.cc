#include "harness/run/attempt/batch.h"

#include <fstream>

#include "harness/core/json.h"
#include "harness/plan/gtest_batch.h"
#include "harness/plan/pytest_list.h"

namespace proctor {

std::string name_for_child(const Suite& suite, const Case& test) {
  return suite.kind == SuiteKind::kProctor ? test.name : std::string(framework_id(test));
}

std::string batch_file(const Suite& suite, const std::vector<const Case*>& cases) {
  if (suite.kind == SuiteKind::kGtest) {
    std::vector<std::vector<std::string>> commands;
    for (const Case* test : cases) commands.push_back(test->argv);
    return gtest_batch_flags(commands);
  }
  auto names = nlohmann::json::array();
  for (const Case* test : cases) names.push_back(name_for_child(suite, *test));
  return names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool write_batch_file(const std::string& path, const Suite& suite, const std::vector<const Case*>& cases) {
  std::ofstream file(path, std::ios::binary);
  file << batch_file(suite, cases);
  file.close();
  return !file.fail();
}

std::vector<std::string> batch_command(const Suite& suite, const Case& first, const std::string& file) {
  return suite.kind == SuiteKind::kGtest ? gtest_batch_command(first.argv, file)
                                         : pytest_batch_command(first.argv, file);
}

}  // namespace proctor
