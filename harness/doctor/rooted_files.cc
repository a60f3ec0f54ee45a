#include "harness/doctor/rooted_files.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>

#include "harness/core/read_file.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as the kernel's (path_resolution(7))

}  // namespace

RootedFiles::RootedFiles(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

std::optional<std::string> RootedFiles::resolve(const std::string& path) const {
  const fs::path wanted(path);
  std::deque<fs::path> rest(wanted.begin(), wanted.end());
  fs::path at = "/";
  int links = 0;
  while (!rest.empty()) {
    const fs::path name = rest.front();
    rest.pop_front();
    if (name == "/" || name == "." || name.empty()) continue;
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = at / name;
    std::error_code error;
    const auto kind = fs::symlink_status(root_ + next.string(), error).type();
    if (kind == fs::file_type::not_found || kind == fs::file_type::none) return std::nullopt;
    if (kind != fs::file_type::symlink) {
      at = next;
      continue;
    }
    if (++links > kMaxLinks) return std::nullopt;
    const fs::path target = fs::read_symlink(root_ + next.string(), error);
    rest.insert(rest.begin(), target.begin(), target.end());
    if (target.is_absolute()) at = "/";
  }
  return at.string();
}

std::optional<std::string> RootedFiles::read(const std::string& path) const {
  const auto file = resolve(path);
  auto text = file ? read_file(root_ + *file) : Error::system("read " + path, ENOENT);
  if (!text) return std::nullopt;
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text->empty() && is_space(text->back())) text->pop_back();
  text->erase(text->begin(), std::find_if_not(text->begin(), text->end(), is_space));
  return *text;
}

std::vector<std::string> RootedFiles::names(const std::string& directory) const {
  std::vector<std::string> names;
  const auto where = resolve(directory);
  if (!where) return names;
  std::error_code none;  // an unreadable directory has no names for us
  for (const auto& entry : fs::directory_iterator(root_ + *where, none))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace proctor
