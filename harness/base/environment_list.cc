#include "harness/base/environment_list.h"

namespace proctor {

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
