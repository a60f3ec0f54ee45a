// Implements `proctor log CASE [RUN_DIR]`: prints the output of a case.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/record/run_record.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

constexpr int kPollAgainMs = 200;
constexpr std::size_t kAnyLine = 1024;  // bytes to read to find out whether there is a line

struct LogOptions : CaseOfRun {
  std::optional<int> attempt;
  int repeat = 0;  // 0: any
  std::optional<int> rank;
  bool follow = false;
  bool timestamps = false;
};

Result<const Attempt*> find_attempt(const ResolvedCase& test, const LogOptions& options) {
  const std::string what = "show the log of " + test.planned.id;
  if (test.attempts.empty()) return Error::usage(what + ": it was not started");
  if (!options.attempt && options.repeat == 0) {
    const Attempt* telling = test.telling;
    return telling != nullptr ? telling : &test.attempts.back();
  }
  const Attempt* found = nullptr;
  for (const Attempt& attempt : test.attempts) {
    if (options.attempt && attempt.start.attempt != *options.attempt) continue;
    if (options.repeat == 0 || attempt.start.repeat == options.repeat) found = &attempt;
  }
  if (found != nullptr) return found;
  return Error::usage(fmt::format("{}: there is no such attempt; it has {}", what, test.attempts.size()));
}

bool had_the_terminal(const ResolvedRun& run) {
  return std::ranges::any_of(run.plan.restrictions.options, [](const NarrowingOption& option) {
    return option.option == "--no-capture" || option.option == "--debugger";
  });
}

// Returns the path of the log; "" if the case printed nothing.
Result<std::string> find_log(const Attempt& attempt, const LogOptions& options) {
  if (!options.rank) return attempt.start.log;
  const auto& ranks = attempt.end ? attempt.end->ranks : std::vector<RankEnd>();
  for (const RankEnd& rank : ranks) {
    if (rank.rank == *options.rank) return rank.log;
  }
  return Error::refused(
      fmt::format("--rank {} does not exist: the attempt has {} ranks", *options.rank, ranks.size()));
}

// Returns the size of the text that can no longer change. The runner may still extend the last entry if its line is
// incomplete.
std::size_t settled(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return 0;
  const std::size_t begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
  return LogReader().add(std::string_view(text).substr(begin, end - begin)).empty() ? begin : end + 1;
}

// Prints the text of the file from `offset`. Returns false if the file cannot be read. `last`: the file will not grow.
bool show_more(int fd, bool timestamps, bool last, LogReader& reader, off_t& offset) {
  std::string block(256 * 1024, '\0');
  for (;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    std::string entries = block.substr(0, static_cast<std::size_t>(got));
    const bool is_end = entries.size() < block.size();
    const std::size_t take = is_end && last ? entries.size() : settled(entries);
    if (take == 0 && is_end) return true;
    entries.resize(take == 0 ? entries.size() : take);  // an entry that is longer than the block
    offset += static_cast<off_t>(entries.size());
    if (timestamps) {
      std::printf("%s", shown(entries).c_str());
      continue;
    }
    for (const std::string& line : reader.add(entries)) std::printf("%s\n", clean_text(line).c_str());
    if (is_end && last) return true;
  }
}

bool is_over(const LogOptions& options, const std::string& case_id, const std::string& log) {
  const auto runner = read_run_record(options.run_dir);
  if (!runner || !*runner || examine_runner(**runner).state != RunnerState::kAlive) return true;
  const auto run = load_run(options.run_dir);
  if (!run || run->ended) return true;
  const ResolvedCase* test = run->find(case_id);
  if (test == nullptr) return true;
  for (const Attempt& attempt : test->attempts) {
    if (attempt.start.log == log) return attempt.end.has_value();
  }
  return true;
}

int say_nothing(const ResolvedCase& test, const Attempt& attempt) {
  if (attempt.end && (attempt.end->output.write_failed || attempt.end->output.bytes > 0))
    return fail(Error::system("show the log of " + test.planned.id + ": it was lost", ENOENT));
  std::fprintf(stderr, "proctor: %s printed nothing\n", shown(test.planned.id).c_str());
  return kExitGreen;
}

int show_log(LogOptions options) {
  if (auto ordered = put_in_order(options); !ordered) return fail(ordered.error());
  const auto run = load_run(options.run_dir);
  if (!run) return fail(Error::usage_of(run.error()));
  const auto test = find_case(*run, options.case_id, options.run_dir);
  if (!test) return fail(test.error());
  const auto attempt = find_attempt(**test, options);
  if (!attempt) return fail(attempt.error());
  const auto log = find_log(**attempt, options);
  if (!log) return fail(log.error());
  if (!options.rank && log->empty() && had_the_terminal(*run))
    return fail(Error::refused("There is no log: the output of the case went to the terminal"));
  if (log->empty()) return say_nothing(**test, **attempt);
  if (!is_below_run_directory(*log))
    return fail(Error::refused("The journal names a log of " + (*test)->planned.id +
                               " that is not in the run directory: " + *log));
  const std::string path = options.run_dir + "/" + *log;
  UniqueFd fd;
  LogReader reader;
  off_t offset = 0;
  for (bool over = !options.follow;;) {
    if (!fd) {
      auto opened = open_regular(path, kAnySize);
      if (!opened && opened.error().sys_errno != ENOENT) return fail(opened.error());
      if (opened) fd = *std::move(opened);
    }
    if (fd && !show_more(fd.get(), options.timestamps, over, reader, offset))
      return fail(Error::system("read " + path, errno));
    std::fflush(stdout);
    if (over) break;
    ::poll(nullptr, 0, kPollAgainMs);
    over = is_over(options, (*test)->planned.id, (*attempt)->start.log);
  }
  if (!fd || last_lines_of_log(fd, 1, kAnyLine).lines.empty()) return say_nothing(**test, **attempt);
  for (const std::string& line : reader.finish()) std::printf("%s\n", clean_text(line).c_str());
  return std::fflush(stdout) == 0 ? kExitGreen : fail(Error::system("write to stdout", errno));
}

}  // namespace

void add_log_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("log", "Print the output of a case");
  auto options = std::make_shared<LogOptions>();
  add_case_of_run(*command, *options, "Case");
  command
      ->add_option("--attempt", options->attempt, "Attempt (default: the one with the outcome of the case)")
      ->type_name("N");
  command->add_option("--repeat", options->repeat, "Repetition, if the case ran more than once")
      ->type_name("N");
  command->add_option("--rank", options->rank, "Rank, if the case has several processes")->type_name("N");
  command->add_flag("--follow,-f", options->follow, "Print new output until the attempt ends");
  command->add_flag("--timestamps,-t", options->timestamps, "Print the time and the stream before each line");
  command->callback([options, &action] { action = [options] { return show_log(*options); }; });
}

}  // namespace proctor::cli
