#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "harness/base/duration.h"
#include "harness/base/words.h"
#include "reports/page/page_data.h"
#include "reports/page/page_text.h"
#include "reports/resolve/rerun.h"

namespace proctor {
namespace {

constexpr std::size_t kCommandBytes = 16'000;

// Separates the text before and after a part that differs for each case.
constexpr char kForEach = '\x1f';

// The distinct texts of a column in the order of their first use. The first text is "".
class TextTable {
 public:
  TextTable() { place_of(""); }

  std::uint32_t place_of(std::string_view text) {
    const auto found = places_.find(text);
    if (found != places_.end()) return found->second;
    const auto [entry, is_new] = places_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    texts_.push_back(&entry->first);
    return entry->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> places_;
  std::vector<const std::string*> texts_;
};

// A case with the values of its columns.
struct Listed {
  const PageRequest& request;
  const PageCase& shown;
  std::int64_t detail = 0;

  const PageRun& run() const { return request.runs[shown.run]; }
  const ResolvedCase& test() const { return shown.test; }
};

std::string name_in_suite(const Listed& one) {
  const std::string& id = one.test().planned.id;
  return id.substr(id.find('/') + 1);
}

// Returns "" if the text equals the original, which then is not stored twice.
std::string unless_same(std::string text, const std::string& as_is) { return text == as_is ? "" : text; }

std::string suite_of(const Listed& one) {
  return suite_name(one.test().planned.suite, one.test().planned.backend);
}

std::string verdict_lines(const Listed& one) {
  const Verdict& verdict = one.test().verdict;
  return fmt::format("{}\n{}\n{}\n{}", to_string(verdict.outcome), counted_as(one.test()),
                     page_line(readable_reason(verdict), kIdBytes), verdict.reason.text());
}

std::string message_of(const Listed& one) {
  const ResolvedCase& test = one.test();
  const bool says = test.result_class != ResultClass::kPassing || test.bad || test.moved || test.flaky;
  return says ? message_line(test) : "";
}

std::string rule_text(const Listed& one) {
  const AttemptEnded* end = newest_end(one.test());
  return end == nullptr || (end->rule + end->source).empty() ? "" : end->rule + '\n' + end->source;
}

// Returns the command that reruns the case. The id is replaced by kForEach, so that many cases share one text.
std::string rerun_text(const Listed& one) {
  const RerunLine& line = *one.test().rerun;
  return line.after ? line.before + kForEach + *line.after : line.before;
}

// Returns the address of the log. The name of the case is replaced by kForEach, so that many cases share one text.
std::string log_text(const Listed& one) {
  if (one.test().attempts.empty()) return "";
  std::string address = file_address(one.test().attempts.back().start.log);
  const std::string name = file_address(name_in_suite(one));
  const std::size_t at = name.empty() ? std::string::npos : address.find(name);
  return at == std::string::npos ? address : address.replace(at, name.size(), 1, kForEach);
}

// Returns the flaky share in thousandths; -1 if it is unknown.
std::int64_t flaky_share(const Listed& one) {
  const Flakiness* flaky = flakiness_of(one.run(), one.test());
  if (flaky == nullptr) return -1;
  return flaky->runs == 0 ? 0 : 1000LL * flaky->inconsistent_runs / flaky->runs;
}

// Returns the outcomes of a case in the earlier runs, in the form that page.js reads.
std::string past_text(const Listed& one) {
  const Past* past = one.run().past;
  std::string text;
  if (past == nullptr || one.test().index >= past->cases.size()) return text;
  for (const PastOutcome& outcome : past->cases[one.test().index]) {
    fmt::format_to(
        std::back_inserter(text), "{}{}", text.empty() ? "" : ",",
        outcome.run * 32 + static_cast<std::uint32_t>(outcome.outcome) * 2 + (outcome.flaky ? 1 : 0));
  }
  return text;
}

// A column of numbers, and a column of texts, which has an index in a table of texts for each case.
struct NumberColumn {
  std::string_view name;
  std::int64_t (*of)(const Listed& one);
};
struct TextColumn {
  std::string_view name;
  std::string_view table;
  std::string (*of)(const Listed& one);
  std::size_t limit = kDataTextBytes;
};

using Number = std::int64_t;
constexpr std::array kNumbers = {
    NumberColumn{"run", [](const Listed& one) -> Number { return one.shown.run; }},
    NumberColumn{"variant",
                 [](const Listed& one) -> Number { return variant_number(one.request, one.shown); }},
    NumberColumn{"cause", [](const Listed& one) -> Number { return cause_number(one.request, one.shown); }},
    NumberColumn{
        "owner",
        [](const Listed& one) { return one.test().bad ? static_cast<Number>(one.test().problem) : 0; }},
    NumberColumn{"failed", [](const Listed& one) -> Number { return one.test().bad; }},
    NumberColumn{"isNew", [](const Listed& one) -> Number { return one.shown.is_new; }},
    NumberColumn{"isFlaky", [](const Listed& one) -> Number { return one.test().flaky; }},
    NumberColumn{"attempts", [](const Listed& one) -> Number { return attempt_count(one.test()); }},
    NumberColumn{"age", [](const Listed& one) -> Number { return one.shown.failing_runs(); }},
    NumberColumn{"flaky", flaky_share},
    NumberColumn{"detail", [](const Listed& one) { return one.detail; }},
    NumberColumn{"duration", [](const Listed& one) { return one.test().duration_ms; }}};

constexpr std::string_view kPast = "";  // a table of the block `past`
// The two columns of the duration are adjacent, because similar columns deflate better.
constexpr std::array kTexts = {
    TextColumn{"took", "durations",
               [](const Listed& one) { return human_duration(Milliseconds(one.test().duration_ms)); }},
    TextColumn{"suite", "suites", suite_of},
    TextColumn{"verdict", "verdicts", verdict_lines, kIdBytes},
    TextColumn{"message", "messages", message_of},
    TextColumn{"device", "devices", [](const Listed& one) { return telling_devices(one.test()); }, kIdBytes},
    TextColumn{"marks", "marksets",
               [](const Listed& one) { return joined(texts_of(one.test().marks), "\n"); }},
    TextColumn{"log", "logs", log_text, kCommandBytes},
    TextColumn{"rerun", "reruns", rerun_text, kCommandBytes},
    TextColumn{"rule", "rules", rule_text},
    TextColumn{"kind", "kinds", [](const Listed& one) { return one.test().planned.kind; }},
    TextColumn{"quoted", "quotes",
               [](const Listed& one) {
                 return unless_same(quoted_word(one.test().planned.id), one.test().planned.id);
               }},
    TextColumn{"address", "addresses",
               [](const Listed& one) {
                 const std::string name = name_in_suite(one);
                 return unless_same(file_address(name), name);
               }},
    TextColumn{"past", kPast, past_text}};

// Writes the columns of the list.
class List {
 public:
  explicit List(const PageRequest& request) : request_(request) {}

  void add(const Listed& one) {
    ids_.push_back(&one.test().planned.id);
    for (std::size_t i = 0; i < kNumbers.size(); ++i) numbers_[i].push_back(kNumbers[i].of(one));
    for (std::size_t i = 0; i < kTexts.size(); ++i)
      places_[i].push_back(tables_[i].place_of(kTexts[i].of(one)));
  }

  void write(JsonWriter& json) const {
    json.open_object().objects("runs", request_.runs, write_run).open_object("signs");
    for (const Style& style : all_styles()) json.member(style.name, style.sign);
    json.close().open_object("looks");
    for (const Outcome outcome : kAllOutcomes) json.member(to_string(outcome), style_of(outcome));
    json.close().open_array("owners");
    for (const FailureOwner cause :
         {FailureOwner::kNobody, FailureOwner::kCode, FailureOwner::kMachine, FailureOwner::kSetup})
      json.item(to_string(cause));
    json.close().open_array("variants");
    for (const PageRun& run : request_.runs) {
      for (const Variant& variant : run.resolved.variants) json.item(data_text(to_string(variant)));
    }
    json.close();
    write_items(json, "id", ids_,
                [](JsonWriter& out, const std::string* id) { out.item(data_text(*id, kIdBytes)); });
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      if (kTexts[i].table != kPast) write_table(json, kTexts[i], tables_[i]);
    }
    for (std::size_t i = 0; i < kNumbers.size(); ++i) write_column(json, kNumbers[i].name, numbers_[i]);
    for (std::size_t i = 0; i < kTexts.size(); ++i) write_column(json, kTexts[i].name, places_[i]);
    json.close();
  }

  bool has_past() const { return pasts().size() > 1; }
  void write_past(JsonWriter& json) const {
    json.open_object();
    write_items(json, "runs", request_.runs, write_past_runs);
    write_items(json, "failed", request_.runs, write_failed_counts);
    write_items(json, "outcomes", kAllOutcomes,
                [](JsonWriter& out, Outcome outcome) { out.item(to_string(outcome)); });
    write_items(json, "cases", pasts(), [](JsonWriter& out, const std::string* text) { out.item(*text); });
    json.close();
  }

 private:
  const std::vector<const std::string*>& pasts() const {
    const auto* column = std::ranges::find(kTexts, kPast, &TextColumn::table);
    return tables_[static_cast<std::size_t>(column - kTexts.begin())].texts();
  }

  // Writes one number if all values are equal.
  static void write_column(JsonWriter& json, std::string_view name, const std::vector<std::int64_t>& values) {
    if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end())
      write_items(json, name, values);
    else
      json.member(name, values.empty() ? 0 : values.front());
  }

  // A command or an address is written as the text before kForEach and the text after it.
  static void write_table(JsonWriter& json, const TextColumn& column, const TextTable& table) {
    write_items(json, column.table, table.texts(), [&column](JsonWriter& out, const std::string* text) {
      if (column.limit != kCommandBytes) {
        out.item(data_text(*text, column.limit));
        return;
      }
      out.open_array();
      for (const std::string_view part : split(*text, kForEach)) out.item(data_text(part, column.limit));
      out.close();
    });
  }

  static void write_run(JsonWriter& json, const PageRun& run) {
    const RunPlanned& plan = run.resolved.plan;
    json.member("id", data_text(plan.run_id, kIdBytes)).member("started", data_text(plan.started, kIdBytes));
    json.member("directory", data_text(plan.directory)).member("link", run.link);
  }

  static void write_past_runs(JsonWriter& json, const PageRun& shown) {
    json.open_array();
    for (const PastRun& run : shown.past == nullptr ? std::vector<PastRun>() : shown.past->runs) {
      json.open_array();
      for (const std::string* text : {&run.run_id, &run.started, &run.commit, &run.branch})
        json.item(data_text(*text, kIdBytes));
      json.item(data_text(run.stack)).close();
    }
    json.close();
  }

  // Writes the number of failed cases in each earlier run.
  static void write_failed_counts(JsonWriter& json, const PageRun& run) {
    const Past* past = run.past;
    std::vector<std::int64_t> counts(past == nullptr ? 0 : past->runs.size());
    for (std::size_t i = 0; past != nullptr && i < past->cases.size(); ++i) {
      for (const PastOutcome& outcome : past->cases[i]) {
        if (outcome.result_class == ResultClass::kFailing) ++counts[outcome.run];
      }
    }
    json.open_array();
    for (const std::int64_t count : counts) json.item(count);
    json.close();
  }

  const PageRequest& request_;
  std::vector<const std::string*> ids_;
  std::array<std::vector<std::int64_t>, kNumbers.size()> numbers_;
  std::array<std::vector<std::int64_t>, kTexts.size()> places_;
  std::array<TextTable, kTexts.size()> tables_;
};

}  // namespace

std::vector<PageBlock> list_blocks(const PageRequest& request, const std::vector<PageCase>& cases,
                                   const std::vector<std::int64_t>& details) {
  List list(request);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (details[i] != kNotListed) list.add({request, cases[i], details[i]});
  }
  std::vector<PageBlock> blocks = {block_of("list", [&](JsonWriter& json) { list.write(json); })};
  if (list.has_past()) blocks.push_back(block_of("past", [&](JsonWriter& json) { list.write_past(json); }));
  return blocks;
}

}  // namespace proctor
