#include "harness/runner/record/joined_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "harness/base/replace_file.h"
#include "harness/runner/record/process_handle.h"
#include "harness/runner/record/run_directory.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOpen = ".open-";
constexpr const char* kParts = "parts";

std::string link_name(const Starter& starter) {
  return fmt::format("{}{}-{}-{}", kOpen, starter.pid, starter.start_time, starter.namespaces);
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::uint64_t inode_of(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 ? info.st_ino : 0;
}

std::optional<Starter> parse_link_name(std::string_view name) {
  if (!name.starts_with(kOpen)) return std::nullopt;
  std::string_view rest = name.substr(kOpen.size());
  const auto take = [&rest] {
    const std::string_view part = rest.substr(0, rest.find('-'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  const auto pid = number<int>(take());
  const auto start = number<std::uint64_t>(take());
  if (!pid || *pid <= 0 || !start) return std::nullopt;
  return Starter{.pid = *pid, .start_time = *start, .namespaces = std::string(rest)};
}

// Returns whether the starter has certainly ended. A process that /proc does not show may be alive: it may be hidden,
// or the numbers may belong to other namespaces.
bool has_ended(const Starter& starter) {
  if (starter.namespaces != Starter::own_namespaces()) return false;
  if (::kill(starter.pid, 0) != 0) return errno == ESRCH;
  const std::uint64_t now = start_time_of(starter.pid);
  return now != 0 && now != starter.start_time;  // another process has this pid
}

// Removes links of starters that have ended, because they start no more parts. Removes links of closed and removed runs
// too.
void forget_ended_starters(const fs::path& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    const auto starter = parse_link_name(entry.path().filename().string());
    if (!starter) continue;
    if (has_ended(*starter) || is_closed(entry.path()) || !fs::exists(entry.path(), ignored))
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

std::string Starter::own_namespaces() {
  return fmt::format("{}-{}", inode_of("/proc/self/ns/pid"), inode_of("/proc/self/ns/time"));
}

Starter parent_of_this_process() {
  const int pid = static_cast<int>(::getppid());
  return {.pid = pid, .start_time = start_time_of(pid)};
}

Result<fs::path> open_joined_run(const fs::path& root, const Starter& starter) {
  if (const auto open = find_joined_run(root, starter); open && !is_closed(*open) && parts_of(*open).empty())
    return *open;
  forget_ended_starters(root);
  const std::string run_id = new_run_id();
  if (auto usable = check_run_directory((root / run_id).string()); !usable) return usable.error();
  const auto run = create_run_directory_below(root.string(), run_id, kKeptRuns);
  if (!run) return run.error();
  std::error_code error;
  fs::create_directory(fs::path(*run) / kParts, error);
  if (error) return Error::system("create " + *run + "/" + kParts, error.value());
  const fs::path link = root / link_name(starter);
  fs::remove(link, error);
  fs::create_directory_symlink(run_id, link, error);
  if (error) return Error::system("create the link " + link.string(), error.value());
  return fs::path(*run);
}

std::optional<fs::path> find_joined_run(const fs::path& root, const Starter& starter) {
  std::error_code error;
  const fs::path name = fs::read_symlink(root / link_name(starter), error);
  // Another user could set the link to any directory.
  if (error || !is_run_id(name.string()) || !check_owner_of(root.string())) return std::nullopt;
  for (const fs::path& directory : {root / name, root / name / kParts}) {
    if (!fs::is_directory(fs::symlink_status(directory, error))) return std::nullopt;
  }
  return fs::absolute(root / name).lexically_normal();
}

bool is_closed(const fs::path& run) {
  std::error_code error;
  return fs::exists(run / "journal.jsonl", error);
}

std::string known_containment_of(const fs::path& run) { return (run / ".containment").string(); }

Result<fs::path> new_part(const fs::path& run) {
  for (std::size_t index = parts_of(run).size() + 1;;
       ++index) {  // other processes may create their part at the same
                   // time
    const fs::path part = run / kParts / std::to_string(index);
    std::error_code error;
    if (fs::create_directory(part, error)) return part;
    if (error) return Error::system("create " + part.string(), error.value());
  }
}

std::vector<std::string> parts_of(const fs::path& run) {
  std::vector<int> indices;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / kParts, error)) {
    if (const auto index = number<int>(entry.path().filename().string())) indices.push_back(*index);
  }
  std::sort(indices.begin(), indices.end());
  std::vector<std::string> parts;
  for (const int index : indices) parts.push_back(fmt::format("{}/{}", kParts, index));
  return parts;
}

void leave_refusal(const fs::path& part, const Error& error) {
  const bool machine = error.kind == ErrorKind::kSystem;
  static_cast<void>(
      replace_file((part / kRefusedFile).string(),
                   error.message() + (machine ? "\n" + std::string(kRefusedByMachine) : "") + "\n"));
}

}  // namespace proctor
