#include "harness/run/record/run_record.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <string_view>
#include <thread>

#include "harness/core/json.h"
#include "harness/core/read_file.h"
#include "harness/core/regular_file.h"
#include "harness/core/remove_tree.h"
#include "harness/core/unique_fd.h"
#include "harness/core/user_name.h"
#include "harness/process/cgroup.h"
#include "harness/process/fair_time.h"
#include "harness/run/record/process_handle.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRecordFile = "run.json";
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
constexpr const char* kPidNamespace = "/proc/self/ns/pid";
constexpr const char* kCgroupKill = "cgroup.kill";
constexpr Milliseconds kKillWait{1'000};
constexpr Milliseconds kKillPoll{5};

// "" when it is gone, as files of other runs and processes are.
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

// Anybody can make a directory of the usual name first. Then ours has a name that nobody can know before.
std::vector<std::string> bases_beside_the_usual() {
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
  if (auto others = bases_beside_the_usual(); !others.empty()) return others.front();
  std::string path = usual_base() + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return Error::system("create " + path, errno);
  return path;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  if (auto written = write_new_file(draft, text + '\n'); !written) return written;
  if (::rename(draft.c_str(), path.c_str()) != 0) return Error::system("write " + path, errno);
  return {};
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

// The record in the run directory, whoever wrote what it says.
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

// Also below our own directory: there a test of the same user may have put anything.
Result<RunRecord> read_private_copy(const fs::path& path) {
  const auto text = read_regular(path.string(), kMostRecord);
  return text ? parse_run_record(*text) : text.error();
}

enum class PrivateCopy { kEqual, kOther, kNone };

PrivateCopy private_copy_of(const RunRecord& record) {
  PrivateCopy found = PrivateCopy::kNone;
  for (const auto& directory : run_record_directories()) {
    const auto copy = read_private_copy(fs::path(directory) / (record.run_id + ".json"));
    if (!copy) continue;
    if (to_json(*copy) == to_json(record)) return PrivateCopy::kEqual;
    found = PrivateCopy::kOther;
  }
  return found;
}

// Machines that nobody has named are all called localhost.
bool names_a_machine(const std::string& host) { return !host.empty() && !host.starts_with("localhost"); }

bool is_populated(const fs::path& cgroup) {
  return read_text(cgroup / "cgroup.events").find("populated 1") != std::string::npos;
}

// Here and below.
std::vector<pid_t> members_of(const fs::path& cgroup) {
  std::vector<pid_t> pids;
  const auto add = [&pids](const fs::path& directory) {
    std::ifstream list(directory / "cgroup.procs");
    for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  };
  add(cgroup);
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(cgroup, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory(error)) add(at->path());
  }
  return pids;
}

void kill_cgroup(const fs::path& cgroup) {
  std::ofstream(cgroup / kCgroupKill) << "1";
  KillWait wait(kKillWait);
  while (is_populated(cgroup) && !wait.is_over(members_of(cgroup))) std::this_thread::sleep_for(kKillPoll);
}

// Leaves first: a cgroup with children cannot be removed.
void remove_cgroup(const fs::path& cgroup) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cgroup, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) remove_cgroup(entry.path());
  }
  ::rmdir(cgroup.c_str());
}

// Where the run's cgroup is as seen from here. In a container, and from outside of one, it has another path
// than in the record; its name is the same.
std::optional<fs::path> find_cgroup(const RunRecord& record) {
  const fs::path recorded = record.cgroup;
  // The id in the name makes a mistaken or forged record harmless.
  if (recorded.filename().string().find(record.run_id) == std::string::npos) return std::nullopt;
  std::error_code error;
  if (fs::exists(recorded / kCgroupKill, error)) return recorded;
  const auto mount = cgroup2_mount();
  if (!mount || record.pid_namespace == read_link(kPidNamespace)) return std::nullopt;
  for (auto at =
           fs::recursive_directory_iterator(*mount, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().filename() == recorded.filename() && fs::exists(at->path() / kCgroupKill, error))
      return at->path();
  }
  return std::nullopt;
}

bool sweep_cgroup(const RunRecord& record, std::vector<std::string>& swept) {
  const auto cgroup = find_cgroup(record);
  if (!cgroup) return true;
  const bool alive = is_populated(*cgroup);
  if (alive) kill_cgroup(*cgroup);
  remove_cgroup(*cgroup);
  std::error_code error;
  const bool left = fs::exists(*cgroup, error);
  swept.push_back((alive ? "killed the processes in and removed cgroup " : "removed cgroup ") +
                  cgroup->string() + (left ? ", which the kernel still holds" : ""));
  return !left;
}

// Only where the pids are those of the record. From elsewhere, kill_leftovers() finds them (find_runner.h). A process that
// several records name is killed and reported once. `surviving` gets the processes that could not be ended.
bool sweep_left(const RunRecord& record, std::vector<LeftProcess>& surviving,
                std::vector<std::string>& swept) {
  if (record.boot_id != first_line(kBootId) || record.pid_namespace != read_link(kPidNamespace)) return true;
  bool gone = true;
  for (const LeftProcess& process : record.left) {
    if (std::ranges::find(surviving, process) != surviving.end()) {
      gone = false;
      continue;
    }
    const auto held = ProcessHandle::open(process.pid, process.start_time);
    if (!held) continue;
    const auto killed = held->signal(SIGKILL);
    KillWait wait(kKillWait);
    bool ended = false;
    while (!(ended = held->wait_until_gone(kKillPoll)) && !wait.is_over({process.pid})) {
    }
    swept.push_back((ended ? "killed process " : "failed to kill process ") + std::to_string(process.pid) +
                    (killed ? "" : ": " + killed.error().what));
    gone = gone && ended;
    if (!ended) surviving.push_back(process);
  }
  return gone;
}

void sweep_scratch(const std::string& scratch, std::vector<std::string>& swept) {
  if (fs::path(scratch).filename().string().rfind("pr-", 0) != 0) return;
  struct stat info {};
  if (::lstat(scratch.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return;
  const auto removed = remove_tree(scratch);
  swept.push_back(removed ? "removed scratch directory " + scratch : "failed to " + removed.error().what);
}

bool sweep_of(const RunRecord& record, std::vector<LeftProcess>& surviving, std::vector<std::string>& said) {
  const bool ended = sweep_left(record, surviving, said);
  const bool swept = sweep_cgroup(record, said);
  for (const auto& directory : record.scratch) sweep_scratch(directory, said);
  return ended && swept;
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
          .parent_start_time = start_time_of(::getppid()),
          .host = host_name(),
          .boot_id = proctor::boot_id(),
          .pid_namespace = read_link(kPidNamespace),
          .cgroup = std::move(cgroup),
          .scratch = std::move(scratch),
          .slurm = own_slurm_job()};
}

std::string to_json(const RunRecord& record) {
  json left = json::array();
  for (const LeftProcess& process : record.left)
    left.push_back({{"pid", process.pid}, {"start_time", process.start_time}});
  json object{{"run_id", record.run_id},
              {"run_dir", record.run_dir},
              {"pid", record.pid},
              {"start_time", record.start_time},
              {"parent_pid", record.parent_pid},
              {"parent_start_time", record.parent_start_time},
              {"host", record.host},
              {"boot_id", record.boot_id},
              {"pid_namespace", record.pid_namespace},
              {"cgroup", record.cgroup},
              {"scratch", record.scratch},
              {"left", left}};
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
                     .parent_start_time = object.value("parent_start_time", std::uint64_t{0}),
                     .host = object.value("host", ""),
                     .boot_id = object.at("boot_id"),
                     .pid_namespace = object.at("pid_namespace"),
                     .cgroup = object.at("cgroup"),
                     .scratch = object.at("scratch")};
    for (const json& process : object.value("left", json::array()))
      record.left.push_back({.pid = process.at("pid"), .start_time = process.at("start_time")});
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
  if (!record || !*record || runner_state(**record) == RunnerState::kElsewhere) return record;
  if (!same_directory((*record)->run_dir, run_dir))
    return distrusted(path, "it is the record of another directory, " + (*record)->run_dir);
  const bool since_boot = (*record)->boot_id == boot_id();
  const PrivateCopy copy = private_copy_of(**record);
  if (copy == PrivateCopy::kEqual || (copy == PrivateCopy::kNone && !since_boot)) return record;
  if (copy == PrivateCopy::kOther) return distrusted(path, "it differs from the private copy of its runner");
  // A run that ends takes its record away before the copy.
  if (const auto again = read_as_it_is(path); again && !*again) return again;
  Error error = distrusted(path, "the runners of this user have no copy of it");
  error.hint +=
      " Run this command as the user of the run, in the same container. `proctor report render` needs no "
      "record.";
  return error;
}

bool is_confirmed(const RunRecord& record) { return private_copy_of(record) == PrivateCopy::kEqual; }

void remove_run_record(const RunRecord& record) {
  // By now another run may be in that directory.
  const std::string path = record.run_dir + "/" + kRecordFile;
  const auto there = read_as_it_is(path);
  if (there && *there && (*there)->run_id == record.run_id) ::unlink(path.c_str());
  for (const auto& directory : run_record_directories())
    ::unlink((directory + "/" + record.run_id + ".json").c_str());
}

std::vector<std::string> run_record_directories() {
  std::vector<std::string> bases = {"/run/user/" + std::to_string(::geteuid()) + "/proctor", usual_base()};
  for (std::string& base : bases_beside_the_usual()) bases.push_back(std::move(base));
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
      auto record = read_private_copy(entry.path());
      if (!record || !record->slurm || record->slurm->id != job.id) continue;
      if (agree(record->slurm->cluster, job.cluster) && agree(record->slurm->node, job.node))
        records.push_back(*std::move(record));
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

Result<void> RunRecordFiles::write() const {
  for (const auto& path : paths_) {
    if (auto written = write_file(path, to_json(record_)); !written) return written.error();
  }
  return {};
}

Result<void> RunRecordFiles::keep(const std::vector<int>& pids) {
  for (const int pid : pids) record_.left.push_back({.pid = pid, .start_time = start_time_of(pid)});
  auto written = write();
  paths_.clear();
  return written;
}

RunRecordFiles::~RunRecordFiles() {
  for (const auto& path : std::views::reverse(paths_))
    ::unlink(path.c_str());  // the copy last, as it came first
}

// The boot comes first: the containers of a machine have names of their own, and its boot id.
RunnerState runner_state(const RunRecord& record) {
  if (record.boot_id != boot_id()) {
    const bool same_machine = names_a_machine(record.host) && record.host == host_name();
    return same_machine ? RunnerState::kGone : RunnerState::kElsewhere;
  }
  if (record.pid_namespace != read_link(kPidNamespace)) return RunnerState::kUnknown;
  return record.start_time != 0 && start_time_of(record.pid) == record.start_time ? RunnerState::kAlive
                                                                                  : RunnerState::kGone;
}

bool sweep_run(const RunRecord& record, std::vector<std::string>& said) {
  std::vector<LeftProcess> surviving;
  return sweep_of(record, surviving, said);
}

std::vector<std::string> sweep_dead_runs() {
  std::vector<std::string> swept;
  std::vector<LeftProcess> surviving;
  for (const auto& directory : run_record_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
      if (entry.path().extension() != ".json") continue;
      const auto record = read_private_copy(entry.path());
      if (!record || runner_state(*record) != RunnerState::kGone) continue;
      std::vector<std::string> said;
      if (sweep_of(*record, surviving, said)) remove_run_record(*record);
      for (const std::string& sentence : said)
        swept.push_back("run " + record->run_id + " of " + user_name(::geteuid()) + " in " + record->run_dir +
                        ": " + sentence);
    }
  }
  return swept;
}

}  // namespace proctor
