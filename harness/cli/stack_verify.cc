// Implements `proctor stack verify`: compares this machine or image with its lock. With --online, it compares the lock
// with registries and repositories, and prints values that the lock lacks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/base/named_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/rooted_files.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/cli/stack.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/stack/fingerprint.h"
#include "harness/stack/lock_format.h"
#include "harness/stack/verify.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

struct VerifyRequest {
  std::vector<std::string> stacks;
  std::string directory;  // "": docker/ if it exists, otherwise the embedded locks
  std::string root = "/";
  bool online = false;
  bool write = false;
  std::string timeout = "2m";
  std::vector<std::string> keyrings;
  std::vector<std::string> mirrors;
};

// ---- This machine ----

Result<std::string> stack_of_machine(const VerifyRequest& request, const Fingerprint& facts) {
  if (request.stacks.size() > 1)
    return Error::refused("A machine can be verified against one stack only", "Name one stack.");
  if (!request.stacks.empty()) return request.stacks.front();
  for (const auto& fact : facts) {
    if (fact.name == "image.stack" && fact.value) return *fact.value;
  }
  return Error::refused("The stack of this machine is not known: there is no /etc/proctor/stack",
                        "Name it: proctor stack verify NAME.");
}

int verify_machine(const VerifyRequest& request) {
  std::error_code error;
  if (!fs::is_directory(request.root, error))
    return fail_stack(Error::refused("--root " + request.root + " does not exist or is not a directory"));
  const auto facts = capture_stack(request.root, image_digest_of_caller());
  const auto name = stack_of_machine(request, facts);
  if (!name) return fail_stack(name.error());
  const std::string locks = lock_directory(request.directory);
  const auto lock = find_lock(locks, *name);
  if (!lock) return fail_stack(lock.error());
  const auto status = RootedFiles(request.root).contents("/var/lib/dpkg/status");
  auto comparison = compare_with_lock(
      *lock, facts, status ? installed_packages(*status) : std::map<std::string, std::string>());
  std::cout << fmt::format("{}, by its lock {}\n", *name, locks.empty() ? "in this program" : "in " + locks);
  for (const auto& equal : comparison.equal) std::cout << "  ok       " << clean_text(equal) << '\n';
  for (const auto& note : comparison.notes) std::cout << "  note     " << clean_text(note) << '\n';
  for (const auto& difference : comparison.differences)
    std::cout << "  differs  " << clean_text(difference) << '\n';
  return comparison.differences.empty() ? kExitGreen : kExitRed;
}

// ---- Registries and repositories ----

Result<std::map<std::string, std::string>> mirrors_of(const VerifyRequest& request) {
  std::map<std::string, std::string> mirrors;
  for (const auto& mirror : request.mirrors) {
    const auto equals = mirror.find('=');
    if (equals == std::string::npos || !is_web_address(mirror.substr(equals + 1)))
      return Error::refused(fmt::format("--mirror must be NAME=URL (got {})", mirror),
                            "NAME is a repository of the lock.");
    mirrors[mirror.substr(0, equals)] = mirror.substr(equals + 1);
  }
  return mirrors;
}

Result<OutsideTools> tools_of(const VerifyRequest& request) {
  const auto timeout = parse_duration(request.timeout);
  if (!timeout) return timeout.error();
  if (*timeout == Milliseconds(0))
    return Error::refused("`--timeout` must be greater than zero (got " + request.timeout + ")");
  for (const auto& keyring : request.keyrings) {
    if (const auto text = read_found_file(keyring); !text) return text.error();
  }
  OutsideTools::Limits limits;
  limits.time = *timeout;
  return OutsideTools::open(limits, request.keyrings.empty() ? keyrings_of_this_system() : request.keyrings);
}

std::vector<std::string> describe(const std::vector<LockChange>& changes) {
  std::vector<std::string> words;
  for (const auto& change : changes) {
    const std::string entry = change.entry.table + (change.entry.name.empty() ? "" : "." + change.entry.name);
    words.push_back(change.key.empty() ? entry + " is verified" : entry + "." + change.key);
  }
  return words;
}

int say(const WorldReport& report) {
  int code = kExitGreen;
  for (const auto& check : report.checks) {
    std::cout << clean_text(fmt::format("  {:<8} {}: {}", to_string(check.says), check.what, check.words))
              << '\n';
    if (check.says == WorldSays::kSilent && code == kExitGreen) code = kExitMachine;
    if (check.says == WorldSays::kDiffers || check.says == WorldSays::kUnknown) code = kExitRed;
  }
  return code;
}

Result<void> write_changes(const std::string& locks, const std::string& name,
                           const std::vector<LockChange>& changes) {
  const std::string file = (fs::path(locks) / (name + ".toml")).string();
  const auto text = read_found_file(file);
  const auto changed = text ? change_lock(*text, file, changes) : text.error();
  if (!changed) return changed.error();
  if (const auto written = replace_file(file, *changed); !written) return written.error();
  std::cout << fmt::format("  changed {}: {}\n", file, fmt::join(describe(changes), ", "));
  std::cout << fmt::format("  then: proctor stack render {}\n", name);
  return {};
}

// Verifies one lock and returns the exit code.
Result<int> verify_lock(const VerifyRequest& request, const std::string& locks, const std::string& name,
                        const OutsideTools& tools, const std::map<std::string, std::string>& mirrors) {
  const auto lock = find_lock(locks, name);
  if (!lock) return lock.error();
  const auto report = verify_online(*lock, tools, mirrors);
  if (!report) return report.error();
  std::cout << name << '\n';
  const int code = say(*report);
  if (report->changes.empty()) return code;
  if (!request.write) {
    std::cout << fmt::format("  --write would change {}: {}\n", (fs::path(locks) / (name + ".toml")).string(),
                             fmt::join(describe(report->changes), ", "));
    return kExitRed;
  }
  if (const auto written = write_changes(locks, name, report->changes); !written) return written.error();
  return code;
}

// Returns the worse exit code: a difference is worse than a missing response.
int worse(int one, int other) {
  if (one == kExitRed || other == kExitRed) return kExitRed;
  return std::max(one, other);
}

int ask_world(const VerifyRequest& request) {
  const std::string locks = lock_directory(request.directory);
  if (locks.empty()) {
    return fail_stack(Error::refused("There is no docker/stacks here",
                                     "Use --dir to give the directory that contains stacks/NAME.toml."));
  }
  const auto mirrors = mirrors_of(request);
  if (!mirrors) return fail_stack(mirrors.error());
  const auto names = request.stacks.empty() ? stack_names(locks) : request.stacks;
  if (!names) return fail_stack(names.error());
  const auto tools = tools_of(request);
  if (!tools) return fail_stack(tools.error());
  int code = kExitGreen;
  for (const auto& name : *names) {
    const auto verdict = verify_lock(request, locks, name, *tools, *mirrors);
    if (!verdict) return fail_stack(verdict.error());
    code = worse(code, *verdict);
  }
  return code;
}

void add_online_options(CLI::App& command, VerifyRequest& request, CLI::Option* online) {
  command.add_flag("--write", request.write, "Add missing values to the lock (requires --online)")
      ->needs(online);
  command
      .add_option("--timeout", request.timeout, "Time limit per download (default: " + request.timeout + ")")
      ->type_name("DURATION")
      ->needs(online);
  command
      .add_option("--keyring", request.keyrings,
                  "Keys of package repositories (default: those of apt); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->needs(online);
  command
      .add_option("--mirror", request.mirrors, "Address to use instead of that of a repository; repeatable")
      ->type_name("NAME=URL")
      ->allow_extra_args(false)
      ->needs(online);
}

}  // namespace

void add_stack_verify(CLI::App& stack, Action& action) {
  CLI::App* command = stack.add_subcommand(
      "verify", "Exit with 1 if this machine, or with --online the repositories, differ from the lock");
  const auto request = std::make_shared<VerifyRequest>();
  command->add_option("NAME", request->stacks, "Stacks (default: that of this image; with --online: all)")
      ->type_name("STACK");
  command
      ->add_option("--dir", request->directory,
                   "Directory of stacks/ (default: docker, else the built-in stacks)")
      ->type_name("DIR");
  auto* root = command->add_option("--root", request->root, "Root of the machine's files (default: /)")
                   ->type_name("DIR");
  auto* online =
      command->add_flag("--online", request->online, "Check registries, repositories and addresses");
  add_online_options(*command, *request, online);
  online->excludes(root);
  command->callback([request, &action] {
    action = [request] { return request->online ? ask_world(*request) : verify_machine(*request); };
  });
}

}  // namespace proctor::cli
