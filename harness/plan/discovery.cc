#include "harness/plan/discovery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "harness/base/text.h"
#include "harness/frameworks/kind.h"

namespace proctor {

namespace {

std::string quoted(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (const std::string& word : argv) words.push_back(shell_quote(word));
  return fmt::format("{}", fmt::join(words, " "));
}

// Returns the last three non-blank lines, for a message of one line.
std::string last_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t end = text.size();
  while (end > 0 && lines.size() < 3) {
    const std::size_t newline = text.rfind('\n', end - 1);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    if (end > begin) lines.insert(lines.begin(), clean_text(text.substr(begin, end - begin)));
    end = newline == std::string::npos ? 0 : newline;
  }
  return fmt::format("{}", fmt::join(lines, " | "));
}

bool gets_devices(const Suite& suite, const Kind& kind) {
  return kind.traits().lists_with_devices && suite.backend != Backend::kNone &&
         (suite.devices > 0 || !suite.devices_marker.empty());
}

// Returns a hint: the command that reproduces the listing by hand.
std::string by_hand(const Suite& suite, const std::vector<std::string>& argv, const Listers& listers,
                    const std::string& no_device) {
  if (!no_device.empty()) {
    return fmt::format("No {0} device was found here. Run `proctor doctor`, or simulate one with --sim {1}.",
                       no_device, no_device == "cuda" ? "cuda:1" : "xpu:1x1");
  }
  if (!gets_devices(suite, *suite.kind)) return "Run that command to see all of its output.";
  return fmt::format("To see all of its output: proctor exec --backend {} --gpus {}{} -- {}",
                     to_string(suite.backend), std::max(1, suite.devices), listers.exec_options,
                     quoted(argv));
}

// Builds the error about a suite whose program could not list its cases.
struct Refusal {
  const Suite& suite;
  const Listers& listers;
  std::string no_device = {};  // ListOutput::no_device

  // Returns a kUnlisted error, not a failure of the machine. At this point the cause is unknown.
  Error because(const std::vector<std::string>& argv, const std::string& what,
                const std::string& words = {}) const {
    std::string text = fmt::format("list the cases of suite `{}` ({}): `{}` {}", suite.name, suite.origin,
                                   quoted(argv), what);
    if (!words.empty()) text += "; it wrote: " + words;
    return {ErrorKind::kUnlisted, std::move(text), by_hand(suite, argv, listers, no_device), 0};
  }
};

// Returns the last lines of output. A program can print the reason on either stream, unless stdout is its list.
std::string last_words(const Suite& suite, const ListOutput& out) {
  const Kind::Traits& traits = suite.kind->traits();
  const bool lists_elsewhere = traits.reporting_mode == ReportingMode::kEvents || !traits.list_file.empty();
  const std::string errors = last_lines(out.stderr_tail);
  const std::string output = lists_elsewhere || errors.empty() ? last_lines(out.stdout_text) : "";
  if (errors.empty() || output.empty()) return errors + output;
  return fmt::format("{} (stdout); {} (stderr)", output, errors);
}

std::optional<Error> check_list(const Suite& suite, const std::vector<std::string>& argv,
                                const ListOutput& out, const Listers& listers) {
  const Refusal refused{suite, listers, out.no_device};
  std::string said;
  if (const std::string problem = suite.kind->list_problem(out, said); !problem.empty())
    return refused.because(argv, problem, last_lines(said));
  std::string what;
  if (!out.spawn_error.empty()) {
    what = "could not be started: " + out.spawn_error;
  } else if (out.timed_out) {
    what = "did not exit in time";
  } else if (out.exit_signal) {
    what = fmt::format("was killed by signal {}", *out.exit_signal);
  } else if (!suite.kind->listed_well(out.exit_code.value_or(-1))) {
    what = fmt::format("exited with {}", out.exit_code.value_or(-1));
  } else if (out.stdout_truncated || out.events_too_long > 0) {
    what = "wrote more output than Proctor reads";
  } else {
    return {};
  }
  return refused.because(argv, what, last_words(suite, out));
}

// Reports a name with a line break. Names are printed in line-based output, where a line break would start a
// forged line.
std::string name_problem(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    if (test.id.find_first_of("\r\n") == test.id.npos && test.name.find_first_of("\r\n") == test.name.npos)
      continue;
    std::string name;
    for (const char c : test.id) name += c == '\n' ? "\\n" : c == '\r' ? "\\r" : std::string(1, c);
    return fmt::format("listed a case with a line break in its name, `{}`", clean_text(name));
  }
  return {};
}

std::optional<Error> check_unique(const Suite& suite, const std::vector<Case>& cases) {
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto [first, inserted] = seen.emplace(cases[i].id, i);
    if (inserted) continue;
    return Error{ErrorKind::kUnlisted,
                 fmt::format("plan suite `{}` ({}): two cases have the id {}, numbers {} and {} of its list",
                             suite.name, suite.origin, cases[i].id, first->second + 1, i + 1),
                 "Rename one of them.", 0};
  }
  return {};
}

// Returns whether the program ran and then failed or crashed, and no device was available. Programs that
// could not be started, timed out or exceeded the output limit do not count.
bool ended_for_want_of_a_device(const ListOutput& out) {
  const bool gave_up = out.exit_signal || out.exit_code.value_or(0) != 0;
  return !out.no_device.empty() && gave_up && out.spawn_error.empty() && !out.timed_out &&
         !out.stdout_truncated && out.events_too_long == 0;
}

// Returns one case for a suite that cannot be listed without a device. It is skipped for that reason.
std::vector<Case> wait_for_a_device(const Suite& suite, const Error& error, std::vector<Warning>& warnings) {
  warnings.push_back({WarningCode::kNotListed, error.message() + ". " + error.hint});
  Case test = unlisted_case(suite, 0, error);
  test.devices = std::max(1, suite.devices) * std::max(1, suite.ranks);
  test.wants_device = true;
  return {std::move(test)};
}

Result<std::vector<Case>> list_cases(Suite& suite, const Listers& listers,
                                     const std::optional<ListOutput>& listing,
                                     std::vector<Warning>& warnings) {
  const std::vector<std::string> argv = suite.kind->list_command(suite);
  Refusal refused{suite, listers};
  std::optional<Error> not_asked;  // complete error; it is not wrapped like the error of a list
  const Ask ask = [&](const std::vector<std::string>& command) -> Result<ListOutput> {
    Result<ListOutput> out = run_listing_command(suite, *suite.kind, command, listers);
    if (!out) {
      not_asked = out.error();
    } else {
      not_asked = check_list(suite, command, *out, listers);
    }
    return not_asked ? *not_asked : out;
  };
  const Result<ListOutput> out = listing ? *listing : run_listing_command(suite, *suite.kind, argv, listers);
  if (!out) return out.error();
  if (auto error = check_list(suite, argv, *out, listers)) {
    if (ended_for_want_of_a_device(*out)) return wait_for_a_device(suite, *error, warnings);
    return *error;
  }
  refused.no_device = out->no_device;
  Result<std::vector<Case>> cases = suite.kind->read_list(suite, *out, ask, warnings);
  if (not_asked) return *not_asked;
  if (!cases) return refused.because(argv, cases.error().what);
  if (cases->empty() && !listers.may_list_nothing)
    return refused.because(argv, "listed no case", last_words(suite, *out));
  if (const auto alone = suite.kind->check_alone(*cases); !alone)
    return refused.because(argv, alone.error().what);
  if (const std::string problem = name_problem(*cases); !problem.empty())
    return refused.because(argv, problem);
  return cases;
}

}  // namespace

SuiteRole role_of(const Kind& kind) {
  if (kind.traits().one_case) return SuiteRole::kCommand;
  return kind.traits().markers_for_devices ? SuiteRole::kPytest : SuiteRole::kTestProgram;
}

Result<void> choose_devices(const Listers& listers, SuiteRole role, const std::string& executable,
                            Suite& suite, std::vector<Warning>& warnings) {
  if (listers.choose_devices) return listers.choose_devices(suite, role, executable, warnings);
  suite.devices = std::max(suite.devices, 0);
  return {};
}

std::string id_prefix(const Suite& suite) {
  return suite.kind->ours() ? fmt::format("{}.{}", suite.name, to_string(suite.backend)) : suite.name;
}

Result<ListOutput> run_listing_command(const Suite& suite, const Kind& kind,
                                       const std::vector<std::string>& argv, const Listers& listers) {
  const ListCommand command{.argv = argv,
                            .env = suite.env,
                            .directory = suite.directory,
                            .file_option = std::string(kind.traits().list_file),
                            .host_pids = suite.host_pids};
  if (gets_devices(suite, kind) && listers.run_with_devices) return listers.run_with_devices(suite, command);
  return listers.run(command);
}

Case unlisted_case(const Suite& suite, std::size_t suite_index, const Error& error) {
  Case test;
  test.id = test.name = test.classname = id_prefix(suite);
  test.suite = suite_index;
  test.argv = suite.command;
  test.unlisted = error.message();
  return test;
}

Result<std::vector<Case>> discover(Suite& suite, std::size_t suite_index, const Listers& listers,
                                   const std::optional<ListOutput>& listing, std::vector<Warning>& warnings) {
  Result<std::vector<Case>> cases = suite.kind->traits().one_case
                                        ? Result<std::vector<Case>>(std::vector<Case>{whole_command(suite)})
                                        : list_cases(suite, listers, listing, warnings);
  if (!cases) return cases;
  for (Case& test : *cases) {
    if (!is_unlisted(test)) test.id = id_prefix(suite) + "/" + test.id;
    test.suite = suite_index;
  }
  if (auto error = check_unique(suite, *cases)) return *error;
  return cases;
}

}  // namespace proctor
