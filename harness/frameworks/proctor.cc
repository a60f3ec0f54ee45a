#include "harness/frameworks/proctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostDevices = 1024;
constexpr int kFailedExitCode = 1;
constexpr int kSkipExitCode = 77;
constexpr std::uint64_t kMostPoints = 1'000'000;

// ---- the events of a list; each function fills in the case and returns "", or returns the error of an event ----

std::string read_texts(const json& event, const char* key, std::vector<std::string>& out) {
  const auto found = event.find(key);
  if (found == event.end()) return {};
  const bool texts = found->is_array() && std::all_of(found->begin(), found->end(),
                                                      [](const json& item) { return item.is_string(); });
  if (!texts) return fmt::format("has no list of strings in \"{}\"", key);
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

std::string read_axes(const json& event, Case& test) {
  const auto found = event.find("axes");
  if (found == event.end()) return {};
  if (!found->is_array()) return "has no list in \"axes\"";
  for (const json& item : *found) {
    if (!item.is_object()) return "has a value that is not an object in \"axes\"";
    Axis axis{.name = text_at(item, "name")};
    std::string wrong = read_texts(item, "values", axis.values);
    if (wrong.empty()) wrong = read_texts(item, "full", axis.full);
    if (!wrong.empty()) return wrong;
    if (axis.name.empty() || axis.values.empty()) return "has an axis without a name or without values";
    test.axes.push_back(std::move(axis));
  }
  if (const auto points = event.find("points"); points != event.end() && points->is_number_unsigned())
    test.points = static_cast<int>(std::min<std::uint64_t>(points->get<std::uint64_t>(), kMostPoints));
  return {};
}

std::string read_devices(const json& event, Case& test) {
  if (const auto devices = event.find("devices"); devices != event.end()) {
    if (!devices->is_number_unsigned() || devices->get<std::uint64_t>() > kMostDevices)
      return "has no number of devices in \"devices\"";
    test.devices = devices->get<int>();
  }
  if (const auto ranks = event.find("ranks"); ranks != event.end()) {
    if (!ranks->is_number_unsigned() || ranks->get<std::uint64_t>() > kMaxRanks)
      return "has no number of ranks in \"ranks\"";
    test.ranks = ranks->get<int>();
    if (test.ranks > 0 && test.devices % test.ranks != 0)
      return fmt::format("{} devices cannot be divided evenly among {} ranks", test.devices, test.ranks);
  }
  return {};
}

std::string read_case_event(const std::string& line, const Suite& suite, Case& test) {
  const json event = parse_json(line);
  if (event.is_discarded() || !event.is_object()) return "is not a JSON object";
  const auto version = event.find("v");
  if (version == event.end() || *version != child::kProtocolVersion)
    return fmt::format("is not of protocol version {}", child::kProtocolVersion);
  if (text_at(event, "event") != "case") return "is not an event of type \"case\"";
  test.name = text_at(event, "case");
  if (test.name.empty() || test.name != clean_text(test.name)) return "has no readable name in \"case\"";
  test.rule = text_at(event, "rule");
  test.source = text_at(event, "source");
  test.severity = SeverityWord::in_text(text_at(event, "severity"));
  test.expects = text_at(event, "expects");
  for (const std::string& wrong :
       {read_devices(event, test), read_texts(event, "needs", test.needs),
        read_texts(event, "faults", test.faults), read_sizes(event, test), read_axes(event, test)}) {
    if (!wrong.empty()) return wrong;
  }
  if (test.ranks == 0 && event.value("batch", json(false)) == true) test.group = group_of(suite);
  return {};
}

class ProctorKind final : public Kind {
 public:
  ProctorKind()
      : Kind({.name = "proctor",
              .framework = "checks of its own",
              .markers = {child::kListOption},
              .ours = true,
              .skip_code = kSkipExitCode,
              .reporting_mode = ReportingMode::kEvents}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    return with(suite.command, {child::kListOption});
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>& warnings) const override {
    std::vector<Case> cases;
    for (std::size_t i = 0; i < out.event_lines.size(); ++i) {
      const std::string& line = out.event_lines[i];
      Case test;
      test.devices = suite.devices;
      if (const std::string wrong = read_case_event(line, suite, test); !wrong.empty()) {
        return Error::usage(fmt::format("wrote event line {}, which {}: {}", i + 1, wrong,
                                        clean_text(std::string_view(line).substr(0, 200))));
      }
      test.id = test.name;
      test.classname = fmt::format("proctor.{}.{}", suite.name, to_string(suite.backend));
      test.argv = with(suite.command, {child::kCaseOption + test.name});
      cases.push_back(std::move(test));
    }
    if (suite.process == "suite" && std::ranges::all_of(cases, &std::string::empty, &Case::group)) {
      warnings.push_back(
          {WarningCode::kBatchUnused,
           fmt::format("suite `{}`: each case has its own process: the list of {} does not contain "
                       "\"batch\" of any",
                       suite.name, suite.command.front())});
    }
    return cases;
  }

  std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                         const std::string& file) const override {
    std::vector<std::string> command = cases.front()->argv;
    command.back() = child::kCasesOption + file;
    return command;
  }

  Verdict judge(const CaseEnd& end) const override {
    const ChildReport& child = end.child;
    const Verdict mismatch{Outcome::kError, Reason::kResultMismatch};
    if (!child.also_ran().empty()) return mismatch;
    if (child.violations() > 0) return {Outcome::kError, Reason::kProtocol};
    if (!child.result()) return {Outcome::kError, Reason::kNoResult};
    const int code = end.exit_code == kFailedExitCode && end.another_was_bad ? 0 : end.exit_code;
    const bool failed = !child.failures().empty();
    switch (*child.result()) {
      case ChildResult::kPass:
        return code == 0 && !failed ? Verdict{Outcome::kPass, {}} : mismatch;
      case ChildResult::kFail:
        return end.exit_code != 0 || end.went_on ? Verdict{Outcome::kFail, child.reason()} : mismatch;
      case ChildResult::kSkip:
        if (failed || (code != 0 && code != kSkipExitCode)) return mismatch;
        return child.reason().empty() ? Verdict{Outcome::kError, Reason::kSkipWithoutReason}
                                      : Verdict{Outcome::kSkip, child.reason()};
      case ChildResult::kXfail:  // only the known-failure list has expected failures
      case ChildResult::kXpass:
        return {Outcome::kError, Reason::kProtocol};
      case ChildResult::kError:
        return {Outcome::kError, child.reason().empty() ? Reason::kReportedByTest : child.reason()};
    }
    return mismatch;
  }
};

}  // namespace

const Kind& proctor_kind() {
  static const ProctorKind kKind;
  return kKind;
}

}  // namespace proctor
