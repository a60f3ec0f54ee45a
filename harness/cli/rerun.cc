// `proctor rerun RUN`: the same run again, with the cases that are asked for. This process becomes that
// `proctor run`, so its output, its signals and its exit code are the run's own.
#include "reports/model/rerun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/core/exit_code.h"
#include "harness/core/secrets.h"
#include "harness/core/text.h"
#include "reports/model/run_model.h"

namespace proctor::cli {
namespace {

struct RerunOptions {
  std::string run_dir;
  bool failed = false;
  bool each_device = false;
  bool dry_run = false;
  std::vector<std::string> cases;
  std::string point;  // "" = not given
  int repeat = 0;     // 0: not given
  std::string out;
};

std::vector<std::string> all_ids(const RunModel& model) {
  std::vector<std::string> ids;
  for (const auto& record : model.cases()) ids.push_back(record.planned.id);
  return ids;
}

// Empty: the whole run.
Result<std::vector<std::string>> selected_cases(const RerunOptions& options, const RunModel& model) {
  for (const auto& id : options.cases) {
    if (model.find(id) != nullptr) continue;
    return Error::usage("find the case `" + id + "` in " + options.run_dir,
                        did_you_mean(id, all_ids(model), "`proctor list` shows the ids."));
  }
  std::vector<std::string> ids = options.cases;
  for (const auto& record : model.cases()) {
    if (options.failed && model.is_bad(record)) ids.push_back(record.planned.id);
  }
  return ids;
}

// `exec` knows one command and no repeats.
Result<void> check_exec(const RerunOptions& options) {
  if (options.cases.empty() && options.repeat == 0 && !options.each_device) return {};
  return Error::usage(
      "select from " + options.run_dir + ": it is a run of `proctor exec`, which has one case",
      "`proctor run --repeat N --each-device -- COMMAND` repeats a command.");
}

// `--name value` before the `--` that ends our options.
void add_option(std::vector<std::string>& words, const std::vector<std::string>& option) {
  words.insert(std::find(words.begin(), words.end(), "--"), option.begin(), option.end());
}

// What has no dry run is only printed. A run that insists on its cards has none, since it has to look for them.
bool has_dry_run(const RerunCommand& command, bool is_exec) {
  const auto end = std::find(command.words.begin(), command.words.end(), "--");
  return !is_exec && std::find(command.words.begin(), end, "--require-cards") == end;
}

Result<void> add_options(const RerunOptions& options, bool has_dry_run, std::vector<std::string>& words) {
  if (options.repeat > 0) add_option(words, {"--repeat", std::to_string(options.repeat)});
  if (options.each_device) add_option(words, {"--each-device"});
  if (!options.point.empty()) add_option(words, {"--point", options.point});
  if (options.dry_run && has_dry_run) add_option(words, {"--dry-run"});
  if (options.out.empty()) return {};
  std::error_code ec;  // it is relative to where we are, not to where the run was
  const auto out = std::filesystem::absolute(options.out, ec);
  if (ec) return Error::system("find " + options.out, ec.value());
  add_option(words, {"--out", out.string()});
  return {};
}

std::string command_directory() {
  std::error_code ignored;  // then the line says where to go
  return std::filesystem::current_path(ignored).string();
}

std::optional<std::string> variable_of_this_process(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

Error become(const RerunCommand& command) {
  if (::chdir(command.directory.c_str()) != 0)
    return Error::system("go to " + command.directory + ", where the run was", errno);
  for (const auto& variable : command.environment) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  std::vector<char*> words;
  std::vector<std::string> copies = command.words;
  for (auto& word : copies) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv("/proc/self/exe", words.data());
  return Error::system("start proctor again", errno);
}

int rerun(const RerunOptions& options) {
  const auto model = load_run(options.run_dir);
  if (!model) return fail(Error::usage(model.error().what, model.error().hint));
  if (auto fits = model->plan().exec ? check_exec(options) : Result<void>(); !fits) return fail(fits.error());
  const auto ids = selected_cases(options, *model);
  if (!ids) return fail(ids.error());
  if (options.failed && ids->empty()) {
    std::printf("nothing to run again: no case of %s was bad\n", shown(options.run_dir).c_str());
    return kExitGreen;
  }
  RerunCommand command = rerun_of(*model, *ids);
  if (command.words.empty()) {
    return fail(Error::usage(
        "run the cases of " + options.run_dir + " again by one command: each of its suites has its own",
        "Choose those of one suite with --case ID, or start CTest with --rerun-failed."));
  }
  const bool starts = !options.dry_run || has_dry_run(command, model->plan().exec);
  if (auto added = add_options(options, starts, command.words); !added) return fail(added.error());
  if (!starts) {
    std::printf("%s\n", shown(command_text(command, command_directory())).c_str());
    return kExitGreen;
  }
  std::string line;
  for (const auto& word : command.words) line += ' ' + shell_quote(word);
  auto words = fill_in_secrets(std::move(command.words), variable_of_this_process);
  if (!words) return fail(words.error());
  command.words = *std::move(words);
  std::fprintf(stderr, "proctor: again:%s\n", shown(line).c_str());
  return fail(become(command));
}

}  // namespace

void add_rerun_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("rerun", "Run the cases of a run again, the way it ran them");
  auto options = std::make_shared<RerunOptions>();
  command->add_option("run", options->run_dir, "Run directory")->required();
  command->add_flag("--failed", options->failed, "Only the cases that were bad");
  command->add_option("--case", options->cases, "Only the case with exactly this id; repeatable")
      ->allow_extra_args(false);
  command->add_option("--point", options->point, "Only this point of what a check of ours is tried with");
  command->add_option("--repeat", options->repeat, "Run every case so many times")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--each-device", options->each_device,
                    "Every case on every device, and a table that tells code from card");
  command->add_option("--out", options->out, "Run directory of the new run; must be new or empty");
  command->add_flag("--dry-run", options->dry_run,
                    "Print the plan, or the line that would be started; start nothing");
  command->callback([options, &action] { action = [options] { return rerun(*options); }; });
}

}  // namespace proctor::cli
