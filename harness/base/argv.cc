#include "harness/base/argv.h"

namespace proctor {

std::vector<char*> argv_of(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
  unset_variable(environment, name);
  environment.emplace_back(name).append("=").append(value);
}

void unset_variable(std::vector<std::string>& environment, std::string_view name) {
  std::erase_if(environment, [name](std::string_view entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

}  // namespace proctor
