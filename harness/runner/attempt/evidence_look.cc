#include "harness/runner/attempt/evidence_look.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "harness/process/contained_process.h"
#include "harness/process/containment.h"
#include "harness/process/evidence/core_file.h"
#include "harness/process/evidence/own_frame.h"

namespace proctor {
namespace {

std::int64_t unix_seconds(Clock::time_point time) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch() - (Clock::now() - time);
  return std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
}

}  // namespace

std::optional<CrashedProcessEnd> crash_of(const AttemptSetup& setup, const ProcessEnd& end,
                                          const RankReports* ranks) {
  if (end.cause != EndCause::kExited || setup.own_program.empty() || !setup.debugger.empty())
    return std::nullopt;
  std::optional<CrashedProcessEnd> crash;
  if (ranks) {
    crash = ranks->crash_of_answer();
  } else if (end.exit_signal) {
    crash = {end.leader, *end.exit_signal, end.core_dumped};
  }
  return crash && leaves_a_core(crash->signal) ? crash : std::nullopt;
}

EvidenceSnapshot::~EvidenceSnapshot() {
  alive_.end();
  stop();
}

void EvidenceSnapshot::stop() {
  if (process_) process_->stop(SIGKILL, Milliseconds(0));
}

std::uint64_t EvidenceSnapshot::allow_core_in(const std::string& directory) {
  return setup_.debugger.empty() ? cores_.allow_in(directory) : 0;
}

void EvidenceSnapshot::name_file(const AttemptCase& blamed) {
  found_.file = files_.evidence_of(blamed);
  files_.make_way_to(found_.file);
}

void EvidenceSnapshot::at_limit(const AttemptCase& blamed, Clock::time_point began, GatherRequest request,
                                OnDone done) {
  name_file(blamed);
  request.program = setup_.own_program;
  request.file = files_.path_of(found_.file);
  request.environment = setup_.evidence_environment;
  process_ = gather_evidence(io_, containment_, request,
                             alive_.guard([this, began, done = std::move(done)](Gathered gathered) {
                               const std::string problem = gathered.problem;
                               take(std::move(gathered), began);
                               done(problem);
                             }));
}

void EvidenceSnapshot::take(Gathered gathered, Clock::time_point began) {
  found_.lines = std::move(gathered.digest.lines);
  if (!found_.frame) found_.frame = std::move(gathered.digest.frame);
  found_.duration_ms = std::chrono::duration_cast<Milliseconds>(Clock::now() - began).count();
  std::error_code unreadable;  // an unreadable file counts as missing
  if (!std::filesystem::exists(files_.path_of(found_.file), unreadable)) found_.file.clear();
  process_.reset();
}

void EvidenceSnapshot::after_crash(const AttemptCase& blamed, const AttemptPlan& plan,
                                   const AttemptFiles& files, const ProcessEnd& end,
                                   const CrashedProcessEnd& crash, OnDone done) {
  crashed_ = true;
  found_.frame = frame_of_fatal_error(end.output.stderr_tail);
  const bool same_pids = plan.suite->host_pids || !has_pid_namespace(containment_.layer());
  const CrashedProcess process{.pid = crash.pid,
                               .host_pid = same_pids && have_pids_of_the_host() ? crash.pid : 0,
                               .program = blamed.test->argv.empty() ? "" : blamed.test->argv.front()};
  const CorePattern& pattern = cores_.pattern();
  if (!crash.core_dumped || pattern.is_taken()) {
    found_.lines = {where_the_core_is(pattern, read_core_limit(), process, crash.core_dumped)};
    return done("");
  }
  const Clock::time_point began = Clock::now();
  const std::string directory =
      std::filesystem::absolute(files.directory.empty() ? "." : files.directory).string();
  const std::string kept = files_.evidence_of(blamed, ".core");
  name_file(blamed);
  cores_.answered(end.containment_id, crash.pid);
  const std::uint64_t room = cores_.budget.reserve();
  const CrashGatherRequest request{.program = setup_.own_program,
                                   // The clock of a file system is coarser.
                                   .owner = {.pid = crash.pid,
                                             .is_alone = same_pids && !pattern.is_shared(),
                                             .containment_id = end.containment_id,
                                             .since = unix_seconds(end.started) - 1},
                                   .core_glob = core_glob(pattern, process, directory),
                                   .file = files_.path_of(found_.file),
                                   .core = files_.path_of(kept),
                                   .scratch = files.scratch,
                                   .room = room,
                                   .environment = setup_.evidence_environment};
  process_ = gather_evidence(
      io_, containment_, request,
      alive_.guard([this, began, kept, room, done = std::move(done)](Gathered gathered) {
        const std::string core = files_.path_of(kept);
        ::unlink(core_draft(core).c_str());  // the file of a gatherer that was killed
        const std::uint64_t bytes = bytes_on_disk(core);
        if (bytes > 0) found_.core = {.file = kept, .program = gathered.digest.core_program, .bytes = bytes};
        cores_.budget.settle(room, bytes);
        const std::string problem = gathered.problem;
        take(std::move(gathered), began);
        done(problem);
      }));
}

}  // namespace proctor
