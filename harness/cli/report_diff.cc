// Implements `proctor report diff A B`: compares two runs.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/compare/comparison.h"
#include "reports/compare/diff.h"
#include "reports/compare/junit_results.h"
#include "reports/history/history.h"
#include "reports/history/questions.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownOfAClass = 20;
constexpr std::string_view kHistory = "history:";

struct DiffOptions {
  std::string before;
  std::string after;
  std::string json;
  std::string markdown;
  std::optional<std::string> fail_on{};  // none: no judgement
};

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const Change change : kAllChanges) names.emplace_back(to_string(change));
  return names;
}

Result<std::set<Change>> parse_classes(const std::string& list) {
  std::set<Change> classes;
  const std::string classes_hint = "Classes: " + joined(class_names(), ", ") + ".";
  if (trimmed(list).empty()) return Error::refused("--fail-on needs a value: CLASSES", classes_hint);
  for (const std::string_view part : split(list, ',')) {
    const std::string word(trimmed(part));
    const auto change = parse_change(word);
    if (!change) {
      return Error::refused(fmt::format("`{}` is not a class for --fail-on", word),
                            did_you_mean(word, class_names(), classes_hint));
    }
    classes.insert(*change);
    if (*change == Change::kSkippedNow) classes.insert(Change::kNotRunNow);
  }
  return classes;
}

bool is_junit(const std::string& place) {
  std::error_code error;
  return fs::exists(place, error) && !fs::is_directory(place, error) && !is_report_of_run(place);
}

// The ids of a run's cases by their names in a JUnit file, for comparing a run with a JUnit file.
using OurIds = std::map<std::string, std::string>;

OurIds ids_by_junit(const ResolvedRun& run) {
  JunitIds junit;
  OurIds ids;
  for (const ResolvedCase& test : run.cases)
    ids.emplace(junit.next(test.planned.classname, test.planned.name), test.planned.id);
  return ids;
}

void name_as_ours(RunResults& junit, const OurIds& ids) {
  for (CaseResult& result : junit.cases) {
    if (const auto found = ids.find(result.id); found != ids.end()) result.id = found->second;
  }
}

// Loads a run from history:DB@COMMIT.
Result<RunResults> load_from_history(const std::string& place) {
  const std::string at = place.substr(kHistory.size());
  const std::size_t mark = at.rfind('@');
  if (mark == at.npos || mark == 0 || mark + 1 == at.size())
    return Error::refused("`" + place + "` does not name a file and a commit", "Write history:FILE@COMMIT.");
  auto history = History::open_to_read(at.substr(0, mark), kHistoryWait);
  if (!history) return history.error();
  return results_at(*history, at.substr(mark + 1));
}

// Loads the runs one after the other and keeps only their results.
class Loader {
 public:
  explicit Loader(const DiffOptions& options)
      : options_(options), junit_(is_junit(options.before), is_junit(options.after)) {}

  Result<std::pair<RunResults, RunResults>> load() {
    for (const std::string& place : {options_.before, options_.after}) {
      if (is_mixed() && place.starts_with(kHistory)) {
        return Error::refused(
            "`" + place + "` cannot be compared with a JUnit file: a history has no JUnit names",
            "Give the run directory.");
      }
    }
    auto before = load_one(options_.before, junit_.first);
    if (!before) return before.error();
    auto after = load_one(options_.after, junit_.second);
    if (!after) return after.error();
    if (is_mixed()) name_as_ours(junit_.first ? *before : *after, ids_);
    return std::pair(*std::move(before), *std::move(after));
  }

 private:
  bool is_mixed() const { return junit_.first != junit_.second; }

  Result<RunResults> load_one(const std::string& place, bool is_junit) {
    if (is_junit) return load_junit(place);
    if (place.starts_with(kHistory)) return load_from_history(place);
    auto results = load_run_results(place, [this](const ResolvedRun& run) {
      if (is_mixed()) ids_ = ids_by_junit(run);
    });
    if (!results) return Error::usage_of(results.error());
    return results;
  }

  const DiffOptions& options_;
  std::pair<bool, bool> junit_;
  OurIds ids_;
};

Result<void> write_files(const DiffOptions& options, const Diff& diff) {
  if (!options.json.empty()) {
    auto file = FileReplacement::open(options.json);
    if (!file) return file.error();
    {
      TextOutput output([&file](std::string_view piece) { file->add(piece); });
      write_diff_json(diff, output);
    }
    if (auto put = file->put(); !put) return put;
  }
  if (options.markdown.empty()) return {};
  return replace_file(options.markdown, diff_markdown(diff));
}

// Returns the exit code. A case of a named class counts in any case. The result "none" requires a complete comparison.
int judge(const std::string& list, const std::set<Change>& classes, const Diff& diff) {
  const auto found = std::ranges::count_if(
      diff.comparison.changes, [&](const CaseChange& change) { return classes.contains(change.change); });
  std::printf("of %s: %td\n", shown(list).c_str(), found);
  if (found > 0) return said_all(kExitRed, "the comparison");
  const std::string suspicion = why_unjudged(diff);
  if (!suspicion.empty())
    return fail(Error::refused("--fail-on " + list + " cannot be evaluated: " + suspicion));
  return said_all(kExitGreen, "the comparison");
}

int report_diff(const DiffOptions& options) {
  const auto fail_on =
      options.fail_on ? parse_classes(*options.fail_on) : Result<std::set<Change>>(std::set<Change>());
  if (!fail_on) return fail(fail_on.error());
  const auto runs = Loader(options).load();
  if (!runs) return fail(runs.error());
  const Comparison comparison = compare(runs->first, runs->second);
  const Diff diff{runs->first, runs->second, comparison};
  if (auto written = write_files(options, diff); !written) return fail(written.error());
  std::printf("%s", shown(diff_text(diff, kShownOfAClass)).c_str());
  if (options.fail_on) return judge(*options.fail_on, *fail_on, diff);
  return said_all(kExitGreen, "the comparison");
}

}  // namespace

void add_report_diff(CLI::App& report, Action& action) {
  auto* command = report.add_subcommand("diff", "Show what changed between two runs");
  command->footer(
      "A and B are run directories, reports in them, history:DB@COMMIT (the run of that commit in a "
      "history), or JUnit files of any runner. JUnit files are compared by (classname, name). Only cases of "
      "one variant (suite, backend, stack, device model, simulated or not) are compared.\n"
      "Classes: " +
      joined(class_names(), ", ") + ".");
  auto options = std::make_shared<DiffOptions>();
  command->add_option("A", options->before, "Older run")->type_name("A")->required();
  command->add_option("B", options->after, "Newer run")->type_name("B")->required();
  command->add_option("--json", options->json, "Also write the comparison as JSON to this file")
      ->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Also write the comparison as Markdown to this file")
      ->type_name("FILE");
  command
      ->add_option("--fail-on", options->fail_on,
                   "Classes of changes that make the exit code 1, separated by commas")
      ->type_name("CLASSES");
  command->callback([options, &action] { action = [options] { return report_diff(*options); }; });
}

}  // namespace proctor::cli
