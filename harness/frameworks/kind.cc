#include "harness/frameworks/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <span>

#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"

namespace proctor {

namespace {

// Returns the words with `value` in place of "{}".
std::vector<std::string> filled(const std::vector<std::string_view>& templates, const std::string& value) {
  std::vector<std::string> words;
  for (const std::string_view word : templates) {
    words.emplace_back(word);
    if (const std::size_t at = word.find("{}"); at != word.npos) words.back().replace(at, 2, value);
  }
  return words;
}

bool is_one_line(const std::string& text) { return text == clean_text(text) && text.find('\n') == text.npos; }

}  // namespace

// ---- defaults for most kinds

bool Kind::is_command(const std::vector<std::string>&) const { return false; }

Result<void> Kind::settle_environment(Suite&, const SearchPaths&) const { return {}; }

bool Kind::leaves_tests_out(std::string_view, const std::string&) const { return false; }

std::string Kind::instead_of(std::string_view name, const std::string&) const {
  const auto& filters = traits_.caller_filters;
  return std::ranges::find(filters, name) == filters.end()
             ? ""
             : "--filter or --shard, or an option of its command";
}

Result<void> Kind::check_alone(const std::vector<Case>&) const { return {}; }

std::string Kind::list_problem(const ListOutput&, std::string&) const { return {}; }

std::unique_ptr<Translator> Kind::translator(const Suite&, const Case&) const { return nullptr; }

std::unique_ptr<ProgressReader> Kind::progress_reader() const { return nullptr; }

std::string Kind::way_of_reporting(const Suite&) const { return {}; }

std::string Kind::how_to_share(const Suite&) const { return {}; }

std::string Kind::batch_file(const std::vector<const Case*>& cases) const {
  auto names = nlohmann::json::array();
  for (const Case* test : cases) names.push_back(name_for_child(*test));
  return names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> Kind::batch_command(const std::vector<const Case*>& cases,
                                             const std::string&) const {
  return cases.front()->argv;
}

// ---- functions of the traits

bool Kind::is_list(const ListOutput& out) const {
  return std::ranges::any_of(traits_.list_marks, [&](std::string_view mark) {
    return out.stdout_text.find(mark) != std::string::npos || out.file_text.find(mark) != std::string::npos;
  });
}

std::vector<std::string> Kind::output_options(const std::string& file) const {
  return filled(traits_.output, file);
}

std::vector<std::string> Kind::with_output(std::vector<std::string> command, const std::string& file) const {
  const auto end = traits_.dashes_end_options ? std::ranges::find(command, "--") : command.end();
  const std::vector<std::string> words = output_options(file);
  command.insert(end, words.begin(), words.end());
  return command;
}

std::string Kind::name_for_child(const Case& test) const {
  return ours() ? test.name : std::string(framework_id(test));
}

// ---- helpers for kinds

std::string_view framework_id(const Case& test) {
  return std::string_view(test.id).substr(test.id.find('/') + 1);
}

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  for (std::string& word : more) words.push_back(std::move(word));
  return words;
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string safe;
  for (const char c : text) {
    if (special.find(c) != special.npos) safe += '\\';
    safe += c;
  }
  return safe;
}

Case whole_command(const Suite& suite) {
  Case test;
  test.name = std::filesystem::path(suite.command.front()).filename().string();
  test.id = test.name;
  test.classname = suite.name;
  test.devices = suite.devices * std::max(1, suite.ranks);
  test.ranks = suite.ranks;
  test.argv = suite.command;
  return test;
}

std::string event_line(std::string_view event, nlohmann::json fields) {
  fields["v"] = child::kProtocolVersion;
  fields["event"] = event;
  return fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string group_of(const Suite& suite) { return suite.process == "suite" ? "*" : ""; }

namespace {

constexpr std::size_t kMostPairs = 20'000'000;  // to compare them takes about a second

// The indices of the cases, in the order of their names.
class ByName {
 public:
  explicit ByName(const std::vector<std::string>& names) : names_(names), order_(names.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {},
                             [this](std::size_t which) -> const std::string& { return names_[which]; });
  }

  std::span<const std::size_t> of(const Choice& choice) const {
    const auto beginning = [&](std::size_t which) {
      return std::string_view(names_[which])
          .substr(0, choice.whole ? names_[which].size() : choice.begin.size());
    };
    return std::ranges::equal_range(order_, std::string_view(choice.begin), {}, beginning);
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<std::size_t> order_;
};

}  // namespace

Result<void> check_each_alone(const std::vector<Case>& cases, const std::vector<std::string>& names,
                              const std::vector<Choice>& choices,
                              const std::function<bool(std::size_t one, std::size_t other)>& runs_too) {
  const auto refused = [](const Case& test, const std::string& why) {
    return Error::usage(
        fmt::format("listed a test that cannot be run alone: `{}`: {}", clean_text(test.id), why));
  };
  const ByName sorted(names);
  std::size_t pairs = 0;
  for (std::size_t one = 0; one < cases.size(); ++one) {
    if (cases[one].name.empty() || !is_one_line(cases[one].id))
      return refused(cases[one], "its name cannot be shown");
    const auto others = sorted.of(choices[one]);
    pairs += others.size();
    if (pairs > kMostPairs)
      return Error::usage("listed too many tests whose names can match each other, for example `" +
                          clean_text(cases[one].id) + "`");
    for (const std::size_t other : others) {
      if (cases[one].id == cases[other].id || !runs_too(one, other)) continue;
      return refused(cases[one],
                     fmt::format("its framework would run `{}` too", clean_text(cases[other].id)));
    }
  }
  return {};
}

Verdict judge_reported(const CaseEnd& end, bool failed_code) {
  const ChildReport& child = end.child;
  if (!child.also_ran().empty()) return {Outcome::kError, Reason::kResultMismatch};
  if (child.violations() > 0) return {Outcome::kError, Reason::kProtocol};
  if (!child.result()) return {Outcome::kError, Reason::kNoResult};
  const bool ended_well = end.went_on || end.exit_code == 0;
  if (child.result() == ChildResult::kFail) {
    const bool contradicts = ended_well && !end.went_on;
    return contradicts ? Verdict{Outcome::kError, Reason::kResultMismatch}
                       : Verdict{Outcome::kFail, child.reason()};
  }
  if (child.result() == ChildResult::kError)
    return {Outcome::kError, child.reason().empty() ? Reason::kReportedByTest : child.reason()};
  if (!ended_well && !(failed_code && end.another_was_bad))
    return {Outcome::kFail, {Reason::kExit, end.exit_code}};
  switch (*child.result()) {
    case ChildResult::kPass:
      return {Outcome::kPass, {}};
    case ChildResult::kSkip:
      return {Outcome::kSkip, child.reason().empty() ? Reason::kFramework : child.reason()};
    case ChildResult::kXfail:
      return {Outcome::kXfail, child.reason()};
    case ChildResult::kXpass:
      return {Outcome::kXpass, child.reason()};
    case ChildResult::kFail:
    case ChildResult::kError:
      break;  // handled above
  }
  return {Outcome::kError, Reason::kProtocol};
}

}  // namespace proctor
