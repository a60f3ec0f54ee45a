#include "harness/cli/slurm_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/base/child_process.h"
#include "harness/base/outside_program.h"
#include "harness/base/text.h"

namespace proctor::cli {
namespace {

constexpr const char* kSlurmPackage = "slurm-client";
constexpr Milliseconds kSubmitLimit{120'000};  // sbatch waits and retries if the controller is busy
constexpr Milliseconds kCancelLimit{30'000};
constexpr Milliseconds kQuestionLimit{30'000};

// States in which no process of a task runs or will run (squeue(1), JOB STATE CODES). COMPLETING is not in the list,
// because its processes may still write. A requeued task is PENDING again, or has a state with REQUEUE.
constexpr std::array<std::string_view, 10> kOver = {"COMPLETED", "FAILED",        "CANCELLED", "TIMEOUT",
                                                    "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE",  "BOOT_FAIL",
                                                    "PREEMPTED", "REVOKED"};

// Messages of sbatch for errors outside of its options. Its exit code is always 1.
constexpr std::array<std::string_view, 6> kController = {
    "Unable to contact",    "Socket timed out",   "Connection refused",
    "Zero Bytes were tran", "temporarily unable", "Resource temporarily unavailable"};

// After one of these messages, the job may exist, because sbatch lost the response.
constexpr std::array<std::string_view, 2> kLostAnswer = {"Socket timed out", "Zero Bytes were tran"};

// Returns the last line that is not empty, without "sbatch: error: ".
std::string last_line_of(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string_view line = text.substr(text.rfind('\n') + 1);
  for (const std::string_view start : {"sbatch: ", "squeue: ", "scancel: ", "error: "})
    if (line.starts_with(start)) line.remove_prefix(start.size());
  return std::string(line);
}

// Joins all lines into one.
std::string one_sentence(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const std::string clean = last_line_of(line); !clean.empty())
      joined += (joined.empty() ? "" : "; ") + clean;
  }
  return joined;
}

std::vector<std::string> words_about(const char* program, const SlurmJob& job) {
  std::vector<std::string> words = {program};
  if (!job.cluster.empty()) words.push_back("--clusters=" + job.cluster);
  return words;
}

std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find('|'));
  line.remove_prefix(std::min(line.size(), field.size() + 1));
  return field;
}

bool has_any(std::string_view text, const auto& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != text.npos; });
}

}  // namespace

Result<SlurmJob> parse_job(std::string_view output) {
  const std::string line = last_line_of(output);
  const std::string id = line.substr(0, line.find(';'));
  const bool is_number = !id.empty() && id.find_first_not_of("0123456789") == id.npos;
  if (!is_number)
    return Error{ErrorKind::kSystem,
                 fmt::format("read the job that sbatch has submitted: it printed `{}` and no number",
                             clean_text(line)),
                 "Run `squeue --me` to see whether there is one.", 0};
  return SlurmJob{.id = id, .cluster = line.size() > id.size() ? line.substr(id.size() + 1) : ""};
}

Result<void> find_slurm() {
  for (const char* needed : {"sbatch", "squeue", "scancel"}) {
    if (!find_program(needed))
      return Error::refused(fmt::format("There is no {} in PATH", needed),
                            fmt::format("Install the package {}.", kSlurmPackage));
  }
  return {};
}

Result<SlurmJob, SubmitError> submit_job(const std::vector<std::string>& sbatch_line) {
  const auto done =
      run_outside_program({.argv = sbatch_line, .package = kSlurmPackage, .time = kSubmitLimit});
  if (!done) return SubmitError{done.error(), !is_missing(done.error())};
  if (done->exit_code == 0) {
    auto job = parse_job(done->output);
    if (!job) return SubmitError{job.error(), true};
    return *std::move(job);
  }
  const bool away = has_any(done->errors, kController);
  const Error error{away ? ErrorKind::kSystem : ErrorKind::kUsage,
                    fmt::format("submit the array: sbatch exited with {}: {}", done->exit_code,
                                clean_text(one_sentence(done->errors))),
                    {},
                    0};
  return SubmitError{error, has_any(done->errors, kLostAnswer)};
}

Result<void> cancel_job(const SlurmJob& job, const IsUnwanted& is_unwanted) {
  std::vector<std::string> words = words_about("scancel", job);
  words.push_back(job.id);
  const auto done = run_outside_program(
      {.argv = words, .package = kSlurmPackage, .time = kCancelLimit, .is_unwanted = is_unwanted});
  if (!done) return done.error();
  if (done->exit_code == 0) return {};
  return Error{ErrorKind::kSystem,
               fmt::format("cancel job {}: {}", job.id, clean_text(one_sentence(done->errors))),
               {},
               0};
}

bool is_over(std::string_view state) { return std::ranges::find(kOver, state) != kOver.end(); }

SlurmTasks parse_tasks(std::string_view output) {
  SlurmTasks tasks;
  while (!output.empty()) {
    std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    const std::string_view number = take_field(line);
    int index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size()) continue;
    SlurmTask& task = tasks[index];
    task.state = take_field(line);
    task.reason = take_field(line);
    task.nodes = take_field(line);
  }
  return tasks;
}

Result<SlurmTasks> ask_queue(const SlurmJob& job, const IsUnwanted& is_unwanted) {
  std::vector<std::string> words = words_about("squeue", job);
  words.insert(words.end(),
               {"--noheader", "--array", "--states=all", "--jobs=" + job.id, "--format=%K|%T|%r|%N"});
  const auto done = run_outside_program(
      {.argv = words, .package = kSlurmPackage, .time = kQuestionLimit, .is_unwanted = is_unwanted});
  if (!done) return done.error();
  if (done->exit_code == 0) return parse_tasks(done->output);
  if (done->errors.find("Invalid job id") != std::string::npos) return SlurmTasks{};
  return Error{ErrorKind::kSystem, "ask squeue: " + clean_text(last_line_of(done->errors)), {}, 0};
}

}  // namespace proctor::cli
