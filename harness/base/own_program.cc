#include "harness/base/own_program.h"

#include <filesystem>

namespace proctor {

std::string own_program() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).string();
}

std::string own_directory() { return std::filesystem::path(own_program()).parent_path().string(); }

}  // namespace proctor
