#include "harness/cli/finish_job.h"

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "harness/base/child_process.h"
#include "harness/base/slurm_job.h"
#include "harness/base/user_name.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_render.h"
#include "harness/journal/exit_code.h"
#include "harness/runner/machine/installation.h"

namespace proctor::cli {
namespace {

// The epilog knows whose job it was.
constexpr const char* kJobUser = "SLURM_JOB_UID";

std::optional<RecordOwner> parse_owner(std::string_view text) {
  RecordOwner owner;
  const char* end = text.data() + text.size();
  const auto uid = std::from_chars(text.data(), end, owner.uid);
  if (uid.ec != std::errc() || uid.ptr == end || *uid.ptr != ':') return std::nullopt;
  const auto gid = std::from_chars(uid.ptr + 1, end, owner.gid);
  return gid.ec == std::errc() && gid.ptr == end ? std::optional(owner) : std::nullopt;
}

// For good: no group and no right of root is left.
Result<void> become(const RecordOwner& owner) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
      ::setresuid(owner.uid, owner.uid, owner.uid) != 0)
    return Error::system("become " + user_name(owner.uid), errno);
  return {};
}

// A requeued job may have the directory of the one before.
bool is_still_of(const RunRecord& record) {
  const auto run = load_run(record.run_dir);
  return run && run->plan.run_id == record.run_id;
}

// Where its directory is still there, its reports are completed. A record that is believed names what is killed.
bool finish_recorded(const RunRecord& record, const Limit& limit) {
  print_sentences({fmt::format("run {} in {}", record.run_id, record.run_dir)});
  const auto ended = end_run(record.run_dir, record, /*stop=*/true, limit);
  if (!ended) {
    fail(ended.error());
    return is_of_another_machine(record);  // else something of it may be left here
  }
  if (is_still_of(record)) {
    limit.doing("the reports are rendered");
    render_again(record.run_dir);
    std::fflush(stdout);
  } else {
    print_sentences({"its journal is not there, or is another run's by now: no report was written"});
  }
  if (*ended) remove_run_record(record);
  return *ended;
}

int finish_own(const SlurmJob& job, const Limit& limit) {
  limit.doing("the runs of the job are looked for");
  bool clean = true;
  for (const RunRecord& record : run_records_of(job)) clean = finish_recorded(record, limit) && clean;
  return clean ? kExitGreen : kExitMachine;
}

// It looks for its records itself, and has the time that is left here.
int finish_as(const RecordOwner& owner, const SlurmJob& job, const Limit& limit) {
  limit.doing("the runs of another user are finished");
  auto child = ChildProcess::start({.argv = {Installation().program(), "finish", "--slurm-job", job.id,
                                             "--as-user", fmt::format("{}:{}", owner.uid, owner.gid),
                                             "--limit", fmt::format("{}ms", limit.left().count())},
                                    .env = environment_with({"XDG_RUNTIME_DIR"})});
  if (!child) return fail(child.error()), kExitMachine;
  return child->wait().exit_code == kExitGreen ? kExitGreen : kExitMachine;
}

bool is_of_job(const RecordOwner& owner) {
  const char* user = std::getenv(kJobUser);
  return user == nullptr || std::to_string(owner.uid) == user;
}

}  // namespace

int finish_slurm_job(const std::string& id, const std::string& as_user, const Limit& limit) {
  if (!is_slurm_job_id(id)) {
    return fail(Error::refused("--slurm-job must be a job id (got " + id + ")",
                               "Each task of an array has one of its own: $SLURM_JOB_ID in the epilog."));
  }
  SlurmJob job{.id = id};  // the epilog's own variables name the rest
  if (const char* node = std::getenv("SLURMD_NODENAME")) job.node = node;
  if (const char* cluster = std::getenv("SLURM_CLUSTER_NAME")) job.cluster = cluster;
  if (!as_user.empty()) {
    const auto owner = parse_owner(as_user);
    if (!owner) return fail(Error::refused("--as-user must be UID:GID (got " + as_user + ")"));
    if (auto became = become(*owner); !became) return fail(became.error()), kExitMachine;
    return finish_own(job, limit);
  }
  int code = finish_own(job, limit);
  if (::geteuid() != 0) return code;
  for (const RecordOwner& owner : others_with_run_records()) {
    if (is_of_job(owner)) code = std::max(code, finish_as(owner, job, limit));
  }
  return code;
}

}  // namespace proctor::cli
