#include "harness/process/containment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/unique_fd.h"
#include "harness/process/recipe.h"
#include "harness/process/sweep.h"

namespace proctor {

std::string own_program() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).string();
}

std::string own_directory() { return std::filesystem::path(own_program()).parent_path().string(); }

namespace {

// Guards, cases and helper programs start with /dev/null as descriptors 0 to 2.
Result<void> check_null_device() {
  constexpr const char* kNull = "/dev/null";
  const UniqueFd null(::open(kNull, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  const int why = errno;
  struct stat info {};
  if (null && ::fstat(null.get(), &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3))
    return {};
  Error error = null ? Error{ErrorKind::kSystem, "use /dev/null: it is not the null device", "", 0}
                     : Error::system(std::string("open ") + kNull, why);
  error.hint = "Mount /dev, or make the device: mknod -m 666 /dev/null c 1 3.";
  return error;
}

// Returns everything that the result of a probe depends on, as one line. "": part of it is unknown.
std::string surroundings(std::optional<Layer> wanted, const std::string& guard) {
  struct stat program {};
  const auto cgroup = own_cgroup_directory();
  if (stat(guard.c_str(), &program) != 0) return "";
  std::string text =
      fmt::format("{} {} {}.{} {} {} {}", wanted ? to_string(*wanted) : "any", guard, program.st_mtim.tv_sec,
                  program.st_mtim.tv_nsec, program.st_ino, geteuid(), cgroup ? *cgroup : "-");
  for (const char* name : {"user", "pid", "mnt", "cgroup"}) {
    std::error_code error;
    text += ' ' + std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", name), error).string();
    if (error) return "";
  }
  std::istringstream status(read_file_or_empty("/proc/self/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Cap") || line.starts_with("NoNewPrivs") || line.starts_with("Seccomp:"))
      text += ' ' + line;
  }
  return text;
}

std::string to_text(const ProbedLayer& probed) {
  return fmt::format("{} {:d} {:d} {:d} {:d} {:d} {}", to_string(probed.layer), probed.user_namespace,
                     probed.fresh_proc, probed.own_pids, probed.held_cgroups, probed.dumpable_guard,
                     static_cast<int>(probed.signal_scope));
}

// Returns none if the file has other surroundings or is incomplete.
std::optional<ProbedLayer> read_known(const std::string& file, const std::string& where) {
  if (file.empty() || where.empty()) return std::nullopt;
  std::istringstream text(read_file_or_empty(file));
  std::string line;
  std::string layer;
  ProbedLayer probed;
  int scope = -1;
  if (!std::getline(text, line) || line != where) return std::nullopt;
  text >> layer >> probed.user_namespace >> probed.fresh_proc >> probed.own_pids >> probed.held_cgroups >>
      probed.dumpable_guard >> scope;
  const auto parsed = parse_layer(layer);
  if (!text || !parsed || scope < 0 || scope > static_cast<int>(guard::SignalScope::kFilter))
    return std::nullopt;
  probed.layer = *parsed;
  probed.signal_scope = static_cast<guard::SignalScope>(scope);
  return probed;
}

}  // namespace

Containment::Containment(LayerTrial trial, std::string programs)
    : programs_(std::move(programs)), probe_(std::move(trial.probe)), recipe_(std::move(trial.recipe)) {
  if (recipe_->run_cgroup) {
    run_cgroup_ = recipe_->run_cgroup->path();
    has_pids_limit_ = recipe_->run_cgroup->has_pids_limit();
  }
  recipe_->frozen = std::make_unique<FrozenTime>();
  const auto mount = cgroup2_mount();
  const auto own = own_cgroup_directory();
  if (mount && own) recipe_->quota = Quota(*own, *mount);
}

Containment::~Containment() = default;

Result<std::unique_ptr<Containment>> Containment::open(std::optional<Layer> wanted, const std::string& run_id,
                                                       const std::string& known_file,
                                                       const std::string& programs) {
  const auto guard = guard_path(programs);
  if (!guard) return guard.error();
  if (auto usable = check_null_device(); !usable) return usable.error();
  // The runner adopts the orphans of a guard that a test killed, instead of the machine's init.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // A test of the same user cannot trace this process or read its memory. Root can, unless a signal scope
  // applies.
  prctl(PR_SET_DUMPABLE, 0);
  const std::string where = known_file.empty() ? "" : surroundings(wanted, *guard);
  if (const auto known = read_known(known_file, where)) {
    LayerTrial trial = try_layer(known->layer, *guard, run_id, &*known);
    if (trial.recipe) return std::unique_ptr<Containment>(new Containment(std::move(trial), programs));
  }
  LayerProbe last;
  for (const Layer layer : kAllLayers) {
    if (wanted && layer != *wanted) continue;
    LayerTrial trial = try_layer(layer, *guard, run_id);
    last = trial.probe;
    if (!trial.recipe) continue;
    // If the file cannot be written, the next process probes again.
    if (!where.empty())
      static_cast<void>(replace_file(known_file, where + '\n' + to_text(*trial.recipe) + '\n'));
    return std::unique_ptr<Containment>(new Containment(std::move(trial), programs));
  }
  Error error =
      Error::usage("use containment " + std::string(to_string(last.layer)) + " here: " + last.why_not);
  if (!last.how_to_improve.empty()) error.hint = "To fix it, " + last.how_to_improve.front() + ".";
  return error;
}

std::vector<LayerProbe> Containment::probe_all(const std::string& programs) {
  std::vector<LayerProbe> probes;
  const auto guard = guard_path(programs);
  const auto usable = check_null_device();
  for (const Layer layer : kAllLayers) {
    probes.push_back(!guard    ? refused_layer(layer, guard.error().what)
                     : !usable ? refused_layer(layer, usable.error().what)
                               : try_layer(layer, *guard, "probe-" + std::to_string(getpid())).probe);
  }
  return probes;
}

void Containment::watch_frozen_time() { recipe_->frozen->watch(); }

Milliseconds Containment::take_frozen() { return recipe_->frozen->take_notable(); }

std::string Containment::why_no_pressure() const {
  if (report_pressure(run_cgroup_)) return "";
  return run_cgroup_.empty() ? "the kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)"
                             : "the kernel has no cpu.pressure in " + run_cgroup_ + " (CONFIG_PSI; psi=1)";
}

std::vector<LeakedProcess> Containment::end_rest(Milliseconds limit) { return sweep_rest(*recipe_, limit); }

ContainmentInfo Containment::info() const {
  return {std::string(to_string(layer())), probe_.not_guaranteed, probe_.how_to_improve, probe_.signals};
}

}  // namespace proctor
