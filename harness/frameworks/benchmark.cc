#include "harness/frameworks/benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/equal_names.h"
#include "harness/frameworks/foreign_json.h"

namespace proctor {

namespace {

using nlohmann::json;

// ---- the list of a program ----

enum class LineForm { kName, kPerhaps, kNoName };

LineForm form_of(std::string_view line) {
  int depth = 0;
  bool quoted = false;
  bool free_blank = false;
  bool has_word = false;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f) return LineForm::kNoName;
    if (c == '"') quoted = !quoted;
    if (std::strchr("<([{", c) != nullptr) ++depth;
    if (std::strchr(">)]}", c) != nullptr) depth = std::max(0, depth - 1);
    if (c == ' ' && depth == 0 && !quoted) free_blank = true;
    has_word = has_word || std::isalnum(byte) != 0 || byte >= 0x80;
  }
  if (!has_word) return LineForm::kNoName;
  return free_blank ? LineForm::kPerhaps : LineForm::kName;
}

}  // namespace

BenchmarkList parse_benchmark_list(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  const auto is_name = [](std::string_view line) { return form_of(line) == LineForm::kName; };
  const auto first = std::find_if(lines.begin(), lines.end(), is_name);
  const auto end = std::find_if(lines.rbegin(), lines.rend(), is_name).base();
  BenchmarkList list;
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (line->empty()) continue;
    const bool listed = line >= first && line < end && form_of(*line) != LineForm::kNoName;
    (listed ? list.names : list.chatter).emplace_back(*line);
  }
  return list;
}

std::string benchmark_filter_for(std::string_view name) {
  // No other character gets a backslash: std::regex refuses a backslash before a character that needs none.
  constexpr std::string_view kSpecial = ".[\\()*+?{|^$";
  std::string filter = "^";
  for (const char c : name) {
    if (kSpecial.find(c) != kSpecial.npos) filter += '\\';
    filter += c;
  }
  return filter + "$";
}

namespace {

// ---- the result file of a program ----

bool is_true(const json& row, const char* key) { return row.contains(key) && row.at(key) == true; }

double number_at(const json& row, const std::string& key) {
  return row.contains(key) && row.at(key).is_number() ? row.at(key).get<double>() : 0;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Reads the JSON result file of one benchmark. Content that cannot be read yields no event, so it never
// counts as a result.
class BenchmarkResults final : public Translator {
 public:
  std::vector<std::string> translate(std::string_view text) override {
    const json report = parse_foreign_json(text);
    if (!report.is_object() || !report.contains("benchmarks")) return {};
    std::vector<json> repetitions;
    std::map<std::string, json> aggregates;
    std::set<std::string> names;
    for (const json& row : report["benchmarks"]) {
      if (!row.is_object()) return {};
      const std::string aggregate = text_at(row, "aggregate_name");
      // a row about a family, which has another name
      if (aggregate == "BigO" || aggregate == "RMS") continue;
      names.insert(name_ = text_at(row, "run_name"));
      if (aggregate.empty()) repetitions.push_back(row);
      if (!aggregate.empty()) aggregates[aggregate] = row;
    }
    if (name_.empty()) return {};
    if (names.size() > 1) return {fmt::format("figures of several benchmarks: {}", fmt::join(names, ", "))};
    const bool withheld = repetitions.empty() && aggregates.contains("mean");
    if (withheld) repetitions.push_back(aggregates["mean"]);
    for (const json& row : repetitions) add_repetition(row);
    for (const auto& [key, values] : figures_) {
      // in an aggregate row, this is the number of repetitions
      if (withheld && key == "iterations") continue;
      const double n = withheld ? figures_["iterations"].front() : static_cast<double>(values.size());
      const double spread = withheld ? number_at(aggregates["stddev"], key) : deviation_of(values);
      say_measure(key, mean_of(values), n, spread);
    }
    if (!repetitions.empty()) say("end", {{"result", failed_ ? "fail" : figures_.empty() ? "skip" : "pass"}});
    return std::move(lines_);
  }

 private:
  void add_repetition(const json& row) {
    static const std::set<std::string> kAboutTheRow{"family_index", "per_family_instance_index",
                                                    "repetitions", "repetition_index", "threads"};
    if (is_true(row, "error_occurred")) return fail(text_at(row, "error_message"));
    if (is_true(row, "skipped")) return say("skip", {{"reason", text_at(row, "skip_message")}});
    if (number_at(row, "iterations") < 1) return fail("it ran no iteration");
    unit_ = text_at(row, "time_unit");
    for (const auto& [key, value] : row.items()) {
      if (kAboutTheRow.contains(key)) continue;
      if (value.is_null()) fail(fmt::format("`{}` is not a finite number", key));
      if (value.is_number()) figures_[key].push_back(value.get<double>());
    }
  }

  void say_measure(const std::string& key, double value, double n, double spread) {
    const std::string unit = key == "real_time" || key == "cpu_time" ? unit_ : "";
    say("measure", {{"name", key}, {"value", value}, {"unit", unit}, {"n", n}, {"spread", spread}});
  }
  void fail(const std::string& message) {
    failed_ = true;
    say("fail", {{"message", message}});
  }
  void say(std::string_view event, json fields) {
    fields["case"] = name_;
    lines_.push_back(event_line(event, std::move(fields)));
  }

  std::string name_;
  std::string unit_;
  std::map<std::string, std::vector<double>> figures_;  // by name; one value for each repetition
  bool failed_ = false;
  std::vector<std::string> lines_;
};

// ---- the kind ----

constexpr std::string_view kBenchmarkFilterOption = "--benchmark_filter=";

class BenchmarkKind final : public Kind {
 public:
  BenchmarkKind()
      : Kind({.name = "benchmark",
              .framework = "Google Benchmark's benchmarks",
              .markers = {"benchmark_list_tests", "libbenchmark.so"},
              .processes = {"case"},
              .reporting_mode = ReportingMode::kFile,
              // Aggregates alone would hide a failed repetition.
              .output = {"--benchmark_list_tests=false", "--benchmark_report_aggregates_only=false",
                         "--benchmark_out_format=json", "--benchmark_out={}"},
              // Source: google/benchmark, src/commandlineflags.h: such a variable is the default of each
              // flag.
              .caller_filters = {"BENCHMARK_FILTER", "BENCHMARK_LIST_TESTS", "BENCHMARK_DRY_RUN"}}) {}

  std::vector<std::string> list_command(const Suite& suite) const override {
    std::vector<std::string> command = suite.command;
    const bool filtered = std::any_of(command.begin(), command.end(), [](const std::string& word) {
      return word.starts_with(kBenchmarkFilterOption);
    });
    if (!filtered) command.emplace_back(kBenchmarkFilterOption);
    return with(std::move(command), {"--benchmark_out=", "--benchmark_list_tests=true"});
  }

  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask&,
                                      std::vector<Warning>& warnings) const override {
    const BenchmarkList list = parse_benchmark_list(out.stdout_text);
    if (!list.chatter.empty()) {
      const std::string first = clean_text(list.chatter.front());
      warnings.push_back(
          {WarningCode::kBenchmarkList,
           fmt::format(
               "suite `{}` ({}): {} lines of the program's list are not benchmark names; the first: {}",
               suite.name, suite.origin, list.chatter.size(), first)});
    }
    std::vector<Case> cases;
    for (const std::string& name : list.names) {
      Case test;
      test.id = test.name = name;
      test.classname = suite.name;
      test.devices = suite.devices;
      test.argv = with(suite.command, {std::string(kBenchmarkFilterOption) + benchmark_filter_for(name)});
      cases.push_back(std::move(test));
    }
    join_equal_names(
        cases, [](const Case& test) { return test.name; }, suite, warnings);
    return cases;
  }

  std::unique_ptr<Translator> translator(const Suite&, const Case&) const override {
    return std::make_unique<BenchmarkResults>();
  }

  Verdict judge(const CaseEnd& end) const override {
    // If there is no result, the file may contain figures of another benchmark only.
    if (!end.child.result()) return {Outcome::kError, Reason::kNoResult};
    // The program exits with 0 even if a benchmark failed.
    CaseEnd judged = end;
    judged.went_on = end.child.result() == ChildResult::kFail;
    return judge_reported(judged, false);
  }
};

}  // namespace

const Kind& benchmark_kind() {
  static const BenchmarkKind kKind;
  return kKind;
}

}  // namespace proctor
