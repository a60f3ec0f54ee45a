#include "harness/runner/record/run_directory.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "harness/base/replace_file.h"
#include "harness/base/temp_dir.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultRoot = "proctor-out";
constexpr const char* kLatest = "latest";
constexpr const char* kJournal = "journal.jsonl";
// Files that a run writes, except its reports.
constexpr std::array<std::string_view, 7> kOwnFiles = {
    kJournal, "run.json", "sim_topology.toml", "sim_faults.jsonl", "logs", "evidence", "junit"};

// Returns the nearest existing directory above `path`.
fs::path existing_ancestor(fs::path path) {
  std::error_code error;
  while (!path.empty() && !fs::exists(path, error)) {
    const fs::path parent = path.parent_path();
    if (parent == path) break;
    path = parent;
  }
  return path.empty() ? fs::current_path(error) : path;
}

Error refused(const std::string& option, const std::string& path, const std::string& why) {
  return Error::usage("use " + option + " " + path + ": " + why);
}

std::string why_errno(int err) { return Error::system("", err).what; }

void point_latest_to(const fs::path& root, const std::string& name) {
  std::error_code ignored;  // the link is optional: some file systems have no links
  const fs::path draft = root / (std::string(".") + kLatest + "-" + name);
  fs::create_directory_symlink(name, draft, ignored);
  if (!ignored) fs::rename(draft, root / kLatest, ignored);
  if (ignored) fs::remove(draft, ignored);
}

void leave_out_of_git(const fs::path& root) {
  static_cast<void>(replace_file(root / ".gitignore", "*\n"));  // optional
}

// A run that is active or was killed has a record.
bool has_no_record(const fs::path& directory) {
  const auto record = read_run_record(directory.string());
  return record && !*record;
}

// Returns whether the run is complete. An active run has no reports yet. A stopped call of CTest will never have
// reports: its run is complete when its parts are, if no starter can add another part.
bool is_finished(const fs::path& directory, bool open) {
  std::error_code error;
  if (!has_no_record(directory)) return false;
  if (fs::is_regular_file(fs::symlink_status(directory / "report.json", error))) return true;
  fs::directory_iterator parts(directory / "parts", error);
  if (open || error) return false;
  return std::ranges::all_of(parts,
                             [](const fs::directory_entry& part) { return has_no_record(part.path()); });
}

void remove_old_runs(const fs::path& root, const std::string& newest, std::size_t keep) {
  std::vector<std::string> names;
  std::set<std::string> linked;  // runs with a link, for example of a living call of CTest
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kLatest && entry.is_symlink(error))
      linked.insert(fs::read_symlink(entry.path(), error).string());
    if (is_run_id(name) && name != newest && fs::is_directory(entry.symlink_status(error)))
      names.push_back(name);
  }
  std::ranges::sort(names);  // by time
  for (std::size_t i = 0; i + keep <= names.size(); ++i) {
    if (is_finished(root / names[i], linked.contains(names[i])))
      static_cast<void>(remove_tree(root / names[i]));  // if this fails, the next run tries again
  }
}

bool is_empty_but_for(const fs::path& directory, const fs::path& but, std::error_code& error) {
  std::error_code unknown;
  const fs::directory_iterator entries(directory, error);
  return !error && std::all_of(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    return fs::is_regular_file(entry.symlink_status(unknown)) && fs::equivalent(entry.path(), but, unknown);
  });
}

Result<std::string> create(const std::string& option, const fs::path& out) {
  const fs::path path = fs::absolute(out);
  std::error_code error;
  fs::create_directories(path / "logs", error);
  if (error) return refused(option, path.string(), error.message());
  return path.lexically_normal().string();
}

}  // namespace

std::string new_run_id() {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    random = static_cast<std::uint32_t>(::getpid());
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[40];
  const std::size_t second = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  // The milliseconds precede the random bits, so that of two runs in one second the later one sorts last.
  const auto ms = static_cast<unsigned>(now.tv_nsec / 1'000'000);
  std::snprintf(text + second, sizeof text - second, "-%06x", ms << 14U | (random & 0x3FFFU));
  return text;
}

Result<void> check_run_directory(const std::string& out, const std::string& but) {
  const std::string option = out.empty() ? "run directory" : "--out";
  const fs::path path = out.empty() ? fs::path(kDefaultRoot) : fs::path(out);
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) return refused(option, path.string(), "it is not a directory");
    if (!out.empty() && !is_empty_but_for(path, but, error)) {
      return error ? refused(option, out, error.message()) : refused(option, out, "it is not empty");
    }
  }
  const fs::path name = path.filename().empty() ? path.parent_path() : path;  // without a trailing slash
  if (!out.empty() && fs::is_symlink(fs::symlink_status(name, error)))
    return refused(option, out, "it is a link");
  const fs::path base = existing_ancestor(path);
  if (!fs::is_directory(base, error))
    return refused(option, path.string(), base.string() + " is not a directory");
  if (::access(base.c_str(), W_OK | X_OK) != 0) {
    const int err = errno;
    Error refusal = refused(option, path.string(), base.string() + " is not writable" + why_errno(err));
    if (out.empty()) refusal.hint = "Name another directory with --out DIR.";
    return refusal;
  }
  return check_owner_of(base);
}

Result<void> check_output_file(const std::string& option, const std::string& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) return refused(option, file, "it is a directory");
  const fs::path parent = fs::path(file).parent_path().empty() ? fs::path(".") : fs::path(file).parent_path();
  if (!fs::is_directory(parent, error)) return refused(option, file, parent.string() + " is not a directory");
  if (::access(parent.c_str(), W_OK | X_OK) != 0) {
    return refused(option, file, parent.string() + " is not writable");
  }
  return check_owner_of(parent);
}

Result<void> check_no_other_run(const std::string& option, const std::string& file, const std::string& out) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(file), error);
  if (error) return refused(option, file, error.message());
  for (fs::path at = real.parent_path();; at = at.parent_path()) {
    if (fs::exists(fs::symlink_status(at / kJournal, error)))
      return refused(option, file, at.string() + " is the directory of another run");
    if (at == at.parent_path()) break;
  }
  const bool beside_our_own = !out.empty() && fs::equivalent(real.parent_path(), out, error);
  if (beside_our_own && std::ranges::find(kOwnFiles, real.filename().string()) != kOwnFiles.end())
    return refused(option, file, "the run writes a file of its own there");
  return {};
}

std::vector<std::string> kept_runs() {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator entry(kDefaultRoot, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (is_run_id(entry->path().filename().string()) && fs::is_directory(entry->symlink_status(unknown)))
      runs.push_back(entry->path().string());
  }
  std::ranges::sort(runs, std::greater<>{});  // by time
  return runs;
}

Result<std::string> create_run_directory(const std::string& out, const std::string& run_id, int keep) {
  return out.empty() ? create_run_directory_below(kDefaultRoot, run_id, keep) : create("--out", out);
}

Result<std::string> create_run_directory_below(const std::string& root, const std::string& run_id, int keep) {
  std::error_code error;
  const fs::path runs = fs::absolute(root);
  const bool is_new_root = !fs::exists(runs, error);
  auto path = create("run directory", runs / run_id);
  if (!path) return path;
  point_latest_to(runs, run_id);
  if (is_new_root) leave_out_of_git(runs);
  if (keep > 0) remove_old_runs(runs, run_id, static_cast<std::size_t>(keep));
  return path;
}

}  // namespace proctor
