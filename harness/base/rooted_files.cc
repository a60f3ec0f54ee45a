#include "harness/base/rooted_files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <deque>
#include <filesystem>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // limit of the kernel (path_resolution(7))
constexpr std::uint64_t kMostMachineFile = std::uint64_t{64} << 20;  // bytes; dpkg/status can have 10 MiB

}  // namespace

RootedFiles::RootedFiles(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

Result<std::string> RootedFiles::follow(const std::string& path) const {
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
    if (kind == fs::file_type::not_found || kind == fs::file_type::none)
      return Error::system("open " + path, error.value());
    if (kind != fs::file_type::symlink) {
      at = next;
      continue;
    }
    if (++links > kMaxLinks) return Error::system("open " + path, ELOOP);
    const fs::path target = fs::read_symlink(root_ + next.string(), error);
    if (error) return Error::system("open " + path, error.value());
    rest.insert(rest.begin(), target.begin(), target.end());
    if (target.is_absolute()) at = "/";
  }
  return at.string();
}

std::optional<std::string> RootedFiles::resolve(const std::string& path) const {
  const auto file = follow(path);
  return file ? std::optional(*file) : std::nullopt;
}

Result<std::string> RootedFiles::contents(const std::string& path) const {
  if (is_whole_machine())
    return read_file(path, kMostMachineFile);  // the kernel also resolves the links of /proc
  const auto file = follow(path);
  if (!file) return file.error();
  auto text = read_file(root_ + *file, kMostMachineFile);
  if (text) return text;
  Error error = text.error();
  const std::size_t at = error.what.find(root_ + *file);
  if (at != std::string::npos) error.what.replace(at, root_.size() + file->size(), path);
  return error;
}

std::optional<std::string> RootedFiles::read(const std::string& path) const {
  auto text = contents(path);
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
  std::error_code none;  // an unreadable directory counts as empty
  for (const auto& entry : fs::directory_iterator(root_ + *where, none))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace proctor
