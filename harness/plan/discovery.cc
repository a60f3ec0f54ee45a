#include "harness/plan/discovery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "harness/core/child_protocol.h"
#include "harness/core/json.h"
#include "harness/core/json_text.h"
#include "harness/core/text.h"
#include "harness/plan/gtest_list.h"
#include "harness/plan/pytest_list.h"

namespace proctor {

namespace {

using nlohmann::json;

std::string quoted(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (const std::string& word : argv) words.push_back(shell_quote(word));
  return fmt::format("{}", fmt::join(words, " "));
}

// The last three lines that say something, for a message of one line.
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

// The plan is refused: usage, although it may be the machine's fault, because nothing has been started.
Error refused(const Suite& suite, const std::vector<std::string>& argv, const std::string& what,
              const std::string& stderr_tail = {}) {
  std::string text =
      fmt::format("list the cases of suite `{}` ({}): `{}` {}", suite.name, suite.origin, quoted(argv), what);
  if (const std::string lines = last_lines(stderr_tail); !lines.empty()) text += "; it wrote: " + lines;
  return Error::usage(std::move(text), "Run that command by hand to see all of its output.");
}

std::optional<Error> check_end(const Suite& suite, const std::vector<std::string>& argv,
                               const ListOutput& out) {
  std::string what;
  if (!out.spawn_error.empty()) {
    what = "could not be started: " + out.spawn_error;
  } else if (out.timed_out) {
    what = "did not end in time";
  } else if (out.exit_signal) {
    what = fmt::format("was ended by signal {}", *out.exit_signal);
  } else if (out.exit_code.value_or(-1) != 0) {
    what = fmt::format("exited with {}", out.exit_code.value_or(-1));
  } else if (out.stdout_truncated || out.events_too_long > 0) {
    what = "wrote more than can be read";
  } else {
    return {};
  }
  return refused(suite, argv, what, out.stderr_tail);
}

std::vector<std::string> with(std::vector<std::string> argv, std::string last) {
  argv.push_back(std::move(last));
  return argv;
}

// What is wrong with the list of texts at `key`, or "" and `out` is filled in.
std::string read_texts(const json& event, const char* key, std::vector<std::string>& out) {
  const auto found = event.find(key);
  if (found == event.end()) return {};
  const bool texts = found->is_array() && std::all_of(found->begin(), found->end(),
                                                      [](const json& item) { return item.is_string(); });
  if (!texts) return fmt::format("has no list of texts in \"{}\"", key);
  out = found->get<std::vector<std::string>>();
  return {};
}

std::string read_sizes(const json& event, Case& test) {
  const auto found = event.find("sizes");
  if (found == event.end()) return {};
  if (!found->is_object()) return "has no object in \"sizes\"";
  test.sizes_unit = text_at(*found, "unit");
  for (const auto& [name, amount] : found->items()) {
    if (name == "unit") continue;
    if (!amount.is_number_integer()) return fmt::format("has no number in \"sizes\".\"{}\"", name);
    test.sizes[name] = amount.get<std::int64_t>();
  }
  return {};
}

// What is wrong with a line of the list, or "" and the case is filled in.
std::string read_case_event(const std::string& line, Case& test) {
  const json event = json::parse(line, nullptr, false);
  if (event.is_discarded() || !event.is_object()) return "is no JSON object";
  const auto version = event.find("v");
  if (version == event.end() || *version != child::kProtocolVersion) {
    return fmt::format("is not of protocol version {}", child::kProtocolVersion);
  }
  if (text_at(event, "event") != "case") return "is no event of type \"case\"";
  test.name = text_at(event, "case");
  if (test.name.empty() || test.name != clean_text(test.name)) return "has no readable name in \"case\"";
  if (const auto devices = event.find("devices"); devices != event.end()) {
    if (!devices->is_number_unsigned() || devices->get<std::uint64_t>() > 1024) {
      return "has no number of devices in \"devices\"";
    }
    test.devices = devices->get<int>();
  }
  if (const auto ranks = event.find("ranks"); ranks != event.end()) {
    if (!ranks->is_number_unsigned() || ranks->get<std::uint64_t>() > kMaxRanks)
      return "has no number of ranks in \"ranks\"";
    test.ranks = ranks->get<int>();
    if (test.ranks > 0 && test.devices % test.ranks != 0)
      return fmt::format("has {} devices for {} ranks, which is no equal share", test.devices, test.ranks);
  }
  test.rule = text_at(event, "rule");
  test.source = text_at(event, "source");
  test.severity = text_at(event, "severity");
  test.expects = text_at(event, "expects");
  for (const std::string& wrong : {read_texts(event, "needs", test.needs),
                                   read_texts(event, "faults", test.faults), read_sizes(event, test)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Result<std::vector<Case>> cases_of_proctor(const Suite& suite, const std::vector<std::string>& argv,
                                           const ListOutput& out) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < out.event_lines.size(); ++i) {
    Case test;
    test.devices = suite.devices;
    if (const std::string wrong = read_case_event(out.event_lines[i], test); !wrong.empty()) {
      return refused(suite, argv,
                     fmt::format("wrote event line {}, which {}: {}", i + 1, wrong,
                                 clean_text(std::string_view(out.event_lines[i]).substr(0, 200))));
    }
    test.classname = fmt::format("proctor.{}.{}", suite.name, to_string(suite.backend));
    test.argv = with(suite.command, child::kCaseOption + test.name);
    cases.push_back(std::move(test));
  }
  return cases;
}

// `--gtest_also_run_disabled_tests` in the command means that they are to be run.
bool runs_disabled(const Suite& suite) {
  return std::any_of(suite.command.begin(), suite.command.end(), [](const std::string& word) {
    return word == "--gtest_also_run_disabled_tests" || word == "--gtest_also_run_disabled_tests=1" ||
           word == "--gtest_also_run_disabled_tests=true";
  });
}

Result<std::vector<Case>> cases_of_gtest(const Suite& suite, const std::vector<std::string>& argv,
                                         const ListOutput& out) {
  const Result<std::vector<GtestName>> names = parse_gtest_list(out.stdout_text);
  if (!names) return refused(suite, argv, "wrote a list that cannot be read: " + names.error().what);
  std::vector<std::string> all;
  for (const GtestName& name : *names) all.push_back(name.group + "." + name.name);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const Result<std::string> filter = gtest_filter_for(all[i], all);
    if (!filter)
      return refused(suite, argv, "listed a test that cannot be run alone: " + filter.error().what);
    Case test;
    test.name = all[i];
    test.classname = (*names)[i].group;
    test.devices = suite.devices;
    test.disabled = (*names)[i].disabled && !runs_disabled(suite);
    test.group = suite.process == "suite" ? "*" : "";
    test.argv = with(suite.command, "--gtest_filter=" + *filter);
    cases.push_back(std::move(test));
  }
  return cases;
}

// How many devices a test needs: its marker's number, or the suite's where the marker says none.
Result<int> devices_of(const Suite& suite, const PytestTest& test) {
  const auto marker = test.markers.find(suite.devices_marker);
  if (suite.devices_marker.empty() || marker == test.markers.end()) return suite.devices;
  if (!marker->second || *marker->second < 0 || *marker->second > 1024) {
    return Error::usage(fmt::format("has the marker `{}` without a number of devices: {}",
                                    suite.devices_marker, clean_text(test.nodeid)));
  }
  return *marker->second;
}

std::string group_of(const Suite& suite, const PytestTest& test) {
  if (suite.process == "file") return test.file;
  return suite.process == "suite" ? "*" : "";
}

Result<std::vector<Case>> cases_of_pytest(const Suite& suite, const std::vector<std::string>& argv,
                                          const ListOutput& out) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < out.event_lines.size(); ++i) {
    const Result<PytestTest> listed = parse_pytest_test(out.event_lines[i]);
    const Result<int> devices = listed ? devices_of(suite, *listed) : listed.error();
    if (!devices) {
      return refused(suite, argv, fmt::format("wrote event line {}, which {}", i + 1, devices.error().what));
    }
    Case test;
    test.id = listed->nodeid;
    test.name = listed->name;
    test.classname = listed->classname;
    test.devices = *devices;
    test.group = group_of(suite, *listed);
    test.argv = pytest_case_command(suite.command, listed->nodeid);
    cases.push_back(std::move(test));
  }
  return cases;
}

Case whole_command(const Suite& suite) {
  Case test;
  test.name = std::filesystem::path(suite.command.front()).filename().string();
  test.classname = suite.name;
  test.devices = suite.devices * std::max(1, suite.ranks);
  test.ranks = suite.ranks;
  test.argv = suite.command;
  return test;
}

std::optional<Error> check_unique(const Suite& suite, const std::vector<Case>& cases) {
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto [first, inserted] = seen.emplace(cases[i].id, i);
    if (inserted) continue;
    return Error::usage(
        fmt::format("plan suite `{}` ({}): two cases have the id {}, numbers {} and {} of its list",
                    suite.name, suite.origin, cases[i].id, first->second + 1, i + 1),
        "Rename one of them.");
  }
  return {};
}

// What pytest could not collect it says on stdout, at length; the plugin says it in events.
std::optional<Error> check_collected(const Suite& suite, const std::vector<std::string>& argv,
                                     const ListOutput& out) {
  if (suite.kind != SuiteKind::kPytest) return {};
  const std::vector<std::string> messages = pytest_list_failures(out.event_lines);
  if (messages.empty()) return {};
  return refused(suite, argv, fmt::format("could not collect {} of the tests' files", messages.size()),
                 messages.front());
}

Result<std::vector<Case>> read_list(const Suite& suite, const std::vector<std::string>& argv,
                                    const ListOutput& out) {
  if (suite.kind == SuiteKind::kPytest) return cases_of_pytest(suite, argv, out);
  return suite.kind == SuiteKind::kProctor ? cases_of_proctor(suite, argv, out)
                                           : cases_of_gtest(suite, argv, out);
}

// Tests in Python are often made, and skipped, by what the module sees when it is imported.
bool lists_with_devices(const Suite& suite) {
  return suite.kind == SuiteKind::kPytest && suite.backend != Backend::kNone &&
         (suite.devices > 0 || !suite.devices_marker.empty());
}

Result<std::vector<Case>> list_cases(const Suite& suite, const ListRunner& run,
                                     const std::optional<ListOutput>& listing,
                                     const DeviceListRunner& run_with_devices) {
  const std::vector<std::string> argv = list_command(suite);
  const auto list = [&]() -> Result<ListOutput> {
    if (listing) return *listing;
    return run_with_devices && lists_with_devices(suite) ? run_with_devices(suite, argv)
                                                         : run(argv, suite.env, suite.directory);
  };
  const Result<ListOutput> out = list();
  if (!out) return out.error();
  if (auto error = check_collected(suite, argv, *out)) return *error;
  if (auto error = check_end(suite, argv, *out)) return *error;
  Result<std::vector<Case>> cases = read_list(suite, argv, *out);
  if (cases && cases->empty()) return refused(suite, argv, "listed no case", out->stderr_tail);
  return cases;
}

}  // namespace

std::string id_prefix(const Suite& suite) {
  if (suite.kind != SuiteKind::kProctor) return suite.name;
  return fmt::format("{}.{}", suite.name, to_string(suite.backend));
}

bool is_one_case(const Suite& suite) {
  if (suite.kind == SuiteKind::kGtest) return suite.process == "suite" && !suite.listener;
  return suite.kind == SuiteKind::kCommand;
}

std::vector<std::string> list_command(const Suite& suite) {
  if (suite.kind == SuiteKind::kPytest) return pytest_list_command(suite.command);
  return with(suite.command, suite.kind == SuiteKind::kProctor ? child::kListOption : "--gtest_list_tests");
}

Result<std::vector<Case>> discover(const Suite& suite, std::size_t suite_index, const ListRunner& run,
                                   const std::optional<ListOutput>& listing,
                                   const DeviceListRunner& run_with_devices) {
  const bool pytest = suite.kind == SuiteKind::kPytest;
  const bool whole = is_one_case(suite);
  Result<std::vector<Case>> cases = whole ? Result<std::vector<Case>>(std::vector<Case>{whole_command(suite)})
                                          : list_cases(suite, run, listing, run_with_devices);
  if (!cases) return cases;
  for (Case& test : *cases) {
    test.id = id_prefix(suite) + "/" + (pytest ? test.id : test.name);
    test.suite = suite_index;
    // JUnit has the class in its own attribute; foreign names stay as their framework has them.
    if (suite.kind == SuiteKind::kGtest && !whole) test.name.erase(0, test.classname.size() + 1);
  }
  if (auto error = check_unique(suite, *cases)) return *error;
  return cases;
}

}  // namespace proctor
