#include "harness/runner/record/run_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string_view>
#include <thread>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/regular_file.h"
#include "harness/base/unique_fd.h"
#include "harness/runner/record/process_handle.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRecordFile = "run.json";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kPidNamespace = "/proc/self/ns/pid";
constexpr const char* kTimeNamespace = "/proc/self/ns/time";

// Returns "" if the file does not exist: files of other runs and processes can disappear.
std::string read_text(const fs::path& path) {
  auto text = read_file(path.string());
  return text ? *std::move(text) : "";
}

std::string first_line(const fs::path& path) {
  std::string text = read_text(path);
  return text.substr(0, text.find('\n'));
}

std::string read_link(const char* path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

Result<void> make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Error::system("create " + path, errno);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Error::system("read " + path, errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return Error::system("use " + path + ", which is not a directory of this user", EPERM);
  }
  return {};
}

bool is_private_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string usual_base() { return "/tmp/proctor-" + std::to_string(::geteuid()); }

// Returns other private directories of this user. Any user can create the directory with the usual name first. The
// directory of this user then has an unpredictable name.
std::vector<std::string> further_bases() {
  const std::string beginning = usual_base() + ".";
  std::vector<std::string> bases;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/tmp", ignored)) {
    std::string path = entry.path().string();
    if (path.starts_with(beginning) && is_private_directory(path)) bases.push_back(std::move(path));
  }
  std::ranges::sort(bases);
  return bases;
}

Result<std::string> made_base(const std::string& path) {
  auto made = make_private_directory(path);
  return made ? Result<std::string>(path) : made.error();
}

Result<std::string> base_in_tmp() {
  if (auto made = made_base(usual_base()); made) return made;
  if (auto others = further_bases(); !others.empty()) return others.front();
  std::string path = usual_base() + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return Error::system("create " + path, errno);
  return path;
}

std::string draft_of(const std::string& path) { return path + ".new"; }

Result<void> write_to(const UniqueFd& file, const std::string& path, const std::string& text) {
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return Error::system("write " + path, errno);
}

bool same_directory(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

Error distrusted(const std::string& path, const std::string& why) {
  return Error::usage("trust " + path + ": " + why,
                      "Proctor kills the processes that a record names, so it must be trustworthy.");
}

// Reads the record in the run directory without a check of its author.
Result<std::optional<RunRecord>> read_as_it_is(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::optional<RunRecord>();
  if (!file && errno == ELOOP) return distrusted(path, "it is a link");
  if (!file) return Error::system("read " + path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Error::system("read " + path, errno);
  if (!S_ISREG(info.st_mode)) return distrusted(path, "it is not a file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return distrusted(
        path, "it belongs to user " + std::to_string(info.st_uid) + ", neither to this one nor to root");
  }
  auto record = parse_run_record(read_text("/proc/self/fd/" + std::to_string(file.get())));
  if (!record) return distrusted(path, record.error().what);
  return std::optional<RunRecord>(std::move(*record));
}

std::string private_path(const std::string& directory, const RunRecord& record) {
  return directory + "/" + record.run_id + ".json";
}

enum class PrivateCopy { kEqual, kOther, kNone };

PrivateCopy private_copy_of(const RunRecord& record) {
  PrivateCopy found = PrivateCopy::kNone;
  for (const auto& directory : run_record_directories()) {
    const auto copy = read_private_record(private_path(directory, record));
    if (!copy) continue;
    if (to_json(copy->record) == to_json(record)) return PrivateCopy::kEqual;
    found = PrivateCopy::kOther;
  }
  return found;
}

}  // namespace

bool is_run_id(std::string_view text) {
  constexpr std::string_view kForm = "00000000T000000Z-ffffff";
  const auto fits = [](char form, char c) {
    if (form == '0') return c >= '0' && c <= '9';
    if (form == 'f') return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    return c == form;
  };
  return std::equal(kForm.begin(), kForm.end(), text.begin(), text.end(), fits);
}

std::string boot_id() { return first_line(kBootId); }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

RunRecord describe_this_run(std::string run_id, std::string run_dir, std::string cgroup,
                            std::vector<std::string> scratch) {
  return {.run_id = std::move(run_id),
          .run_dir = std::move(run_dir),
          .pid = ::getpid(),
          .start_time = start_time_of(::getpid()),
          .parent_pid = ::getppid(),
          .host = host_name(),
          .boot_id = proctor::boot_id(),
          .pid_namespace = read_link(kPidNamespace),
          .time_namespace = read_link(kTimeNamespace),
          .cgroup = std::move(cgroup),
          .scratch = std::move(scratch),
          .slurm = own_slurm_job()};
}

std::string to_json(const RunRecord& record) {
  json left = json::array();
  for (const LeftProcess& process : record.left)
    left.push_back({{"pid", process.pid}, {"start_time", process.start_time}});
  json locked = json::array();
  for (const LockIdentity& file : record.locked)
    locked.push_back({{"file_system", file.file_system}, {"device", file.device}, {"inode", file.inode}});
  json object{{"run_id", record.run_id},
              {"run_dir", record.run_dir},
              {"pid", record.pid},
              {"start_time", record.start_time},
              {"parent_pid", record.parent_pid},
              {"host", record.host},
              {"boot_id", record.boot_id},
              {"pid_namespace", record.pid_namespace},
              {"time_namespace", record.time_namespace},
              {"cgroup", record.cgroup},
              {"scratch", record.scratch},
              {"left", left},
              {"locked", locked}};
  if (record.slurm) {
    object["slurm"] = {
        {"job", record.slurm->id}, {"cluster", record.slurm->cluster}, {"node", record.slurm->node}};
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RunRecord> parse_run_record(const std::string& text) {
  const json object = parse_json(text);
  if (!object.is_object()) return Error::usage("it is not a JSON object");
  try {
    RunRecord record{.run_id = object.at("run_id"),
                     .run_dir = object.at("run_dir"),
                     .pid = object.at("pid"),
                     .start_time = object.at("start_time"),
                     .parent_pid = object.value("parent_pid", 0),
                     .host = object.value("host", ""),
                     .boot_id = object.at("boot_id"),
                     .pid_namespace = object.at("pid_namespace"),
                     .time_namespace = object.value("time_namespace", ""),
                     .cgroup = object.at("cgroup"),
                     .scratch = object.at("scratch")};
    for (const json& process : object.value("left", json::array()))
      record.left.push_back({.pid = process.at("pid"), .start_time = process.at("start_time")});
    for (const json& file : object.value("locked", json::array())) {
      record.locked.push_back(
          {.file_system = file.at("file_system"), .device = file.at("device"), .inode = file.at("inode")});
    }
    if (const auto slurm = object.find("slurm"); slurm != object.end()) {
      record.slurm = {
          .id = slurm->at("job"), .cluster = slurm->value("cluster", ""), .node = slurm->value("node", "")};
    }
    if (!is_run_id(record.run_id))
      return Error::usage("its run_id '" + record.run_id + "' is not a valid run id");
    if (record.pid <= 0)
      return Error::usage("its pid " + std::to_string(record.pid) + " is not a valid process id");
    return record;
  } catch (const json::exception& error) {
    return Error::usage(error.what());
  }
}

Result<std::optional<RunRecord>> read_run_record(const std::string& run_dir) {
  const std::string path = fs::path(run_dir) / kRecordFile;
  auto record = read_as_it_is(path);
  if (!record || !*record) return record;
  const PrivateCopy copy = private_copy_of(**record);
  const bool far = is_of_another_machine(**record);  // it may have mounted the directory at another path
  if (!far && !same_directory((*record)->run_dir, run_dir))
    return distrusted(path, "it is the record of another directory, " + (*record)->run_dir);
  if (copy == PrivateCopy::kOther) return distrusted(path, "it differs from the private copy of its runner");
  if (copy == PrivateCopy::kEqual || (*record)->boot_id != boot_id()) return record;
  // A run that ends removes its record before the private copy.
  if (const auto again = read_as_it_is(path); again && !*again) return again;
  Error error = distrusted(path, "the runners of this user have no copy of it");
  error.hint +=
      " Run this command as the user of the run, in the same container. `proctor report render` needs no "
      "record.";
  return error;
}

Result<PrivateRecord> read_private_record(const std::string& path) {
  const auto file = open_regular(path, kMostRecord);
  if (!file) return file.error();
  auto record = parse_run_record(read_text("/proc/self/fd/" + std::to_string(file->get())));
  if (!record) return record.error();
  RunnerStatus runner = examine_lock(*file, record->locked);
  return PrivateRecord{.record = *std::move(record), .runner = std::move(runner)};
}

bool is_confirmed(const RunRecord& record) { return private_copy_of(record) == PrivateCopy::kEqual; }

void remove_run_record(const RunRecord& record) {
  // Another run may use this directory now.
  const std::string path = record.run_dir + "/" + kRecordFile;
  const auto there = read_as_it_is(path);
  if (there && *there && (*there)->run_id == record.run_id) ::unlink(path.c_str());
  for (const auto& directory : run_record_directories()) ::unlink(private_path(directory, record).c_str());
}

std::vector<std::string> run_record_directories() {
  std::vector<std::string> bases = {"/run/user/" + std::to_string(::geteuid()) + "/proctor", usual_base()};
  for (std::string& base : further_bases()) bases.push_back(std::move(base));
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && *runtime == '/')
    bases.insert(bases.begin(), std::string(runtime) + "/proctor");
  std::vector<std::string> found;
  for (const auto& base : bases) {
    const std::string runs = base + "/runs";
    const bool known = std::ranges::find(found, runs) != found.end();
    if (!known && is_private_directory(base) && is_private_directory(runs)) found.push_back(runs);
  }
  return found;
}

std::vector<RunRecord> run_records_of(const SlurmJob& job) {
  const auto agree = [](const std::string& one, const std::string& other) {
    return one.empty() || other.empty() || one == other;
  };
  std::vector<RunRecord> records;
  for (const auto& directory : run_record_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().extension() != ".json") continue;
      auto found = read_private_record(entry.path());
      if (!found || !found->record.slurm || found->record.slurm->id != job.id) continue;
      const SlurmJob& its = *found->record.slurm;
      if (agree(its.cluster, job.cluster) && agree(its.node, job.node))
        records.push_back(std::move(found->record));
    }
  }
  return records;
}

std::vector<RecordOwner> others_with_run_records() {
  std::vector<RecordOwner> owners;
  const auto add_owner_of = [&owners](const fs::path& base) {
    struct stat info {};
    if (::lstat(base.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid == ::geteuid()) return;
    if (std::ranges::find(owners, info.st_uid, &RecordOwner::uid) == owners.end())
      owners.push_back({.uid = info.st_uid, .gid = info.st_gid});
  };
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/tmp", ignored)) {
    if (entry.path().filename().string().starts_with("proctor-")) add_owner_of(entry.path());
  }
  for (const auto& entry : fs::directory_iterator("/run/user", ignored))
    add_owner_of(entry.path() / "proctor");
  return owners;
}

Result<std::string> run_record_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code error;
  const bool has_runtime = runtime && *runtime == '/' && ::access(runtime, W_OK) == 0;
  const auto base = has_runtime ? made_base(std::string(runtime) + "/proctor") : base_in_tmp();
  if (!base) return base.error();
  const std::string runs = *base + "/runs";
  if (auto made = make_private_directory(runs); !made) return made.error();
  return runs;
}

Result<RunRecordFiles> RunRecordFiles::write(const RunRecord& record) {
  auto directory = run_record_directory();
  if (!directory) return directory.error();
  RunRecordFiles files(record,
                       {*directory + "/" + record.run_id + ".json", record.run_dir + "/" + kRecordFile});
  if (auto written = files.write(); !written) return written.error();
  return files;
}

// A copy gets its final name after it is locked, so that no process sees the record of a living run without a lock.
Result<void> RunRecordFiles::write() {
  std::vector<UniqueFd> files;
  record_.locked.clear();
  for (const auto& path : paths_) {
    auto draft = create_file(draft_of(path), 0644);
    if (!draft) return draft.error();
    if (const LockIdentity locked = lock_for_life(*draft); locked.inode != 0)
      record_.locked.push_back(locked);
    files.push_back(*std::move(draft));
  }
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (auto written = write_to(files[i], paths_[i], to_json(record_) + '\n'); !written) return written;
    if (::rename(draft_of(paths_[i]).c_str(), paths_[i].c_str()) != 0)
      return Error::system("write " + paths_[i], errno);
  }
  held_ = std::move(files);
  return {};
}

Result<void> RunRecordFiles::keep(const std::vector<int>& pids) {
  for (const int pid : pids) record_.left.push_back({.pid = pid, .start_time = start_time_of(pid)});
  auto written = write();
  paths_.clear();
  return written;
}

RunRecordFiles::~RunRecordFiles() {
  for (const auto& path :
       std::views::reverse(paths_)) {  // the private copy last, because it was created first
    ::unlink(draft_of(path).c_str());
    ::unlink(path.c_str());
  }
}

bool has_our_pids(const RunRecord& record) {
  return !record.boot_id.empty() && record.boot_id == boot_id() && !record.pid_namespace.empty() &&
         record.pid_namespace == read_link(kPidNamespace) &&
         record.time_namespace == read_link(kTimeNamespace);
}

bool is_of_another_machine(const RunRecord& record) {
  return record.boot_id != boot_id() && record.host != host_name();
}

namespace {

RunnerStatus examine_locks(const RunRecord& record) {
  std::vector<std::string> paths{record.run_dir + "/" + kRecordFile};
  for (const auto& directory : run_record_directories()) paths.push_back(private_path(directory, record));
  RunnerStatus status{.why = "its record cannot be read"};
  for (const auto& path : paths) {
    auto copy = read_private_record(path);
    if (!copy || to_json(copy->record) != to_json(record)) continue;
    if (copy->runner.state == RunnerState::kAlive) return std::move(copy->runner);
    if (status.state != RunnerState::kEnded) status = std::move(copy->runner);
  }
  return status;
}

bool process_has_ended(const RunRecord& record) {
  return has_our_pids(record) && !ProcessHandle::open(record.pid, record.start_time);
}

}  // namespace

// A killed runner may leave a child between fork and exec. Until its exec, the child holds the lock of the runner.
RunnerStatus examine_runner(const RunRecord& record) {
  constexpr Milliseconds kUntilExec{2'000};
  constexpr Milliseconds kPoll{5};
  const auto end = Clock::now() + kUntilExec;
  for (;;) {
    RunnerStatus status = examine_locks(record);
    if (status.state != RunnerState::kAlive || !process_has_ended(record) || Clock::now() >= end)
      return status;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace proctor
