#include "reports/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/formats/json_writer.h"
#include "reports/page/page_logs.h"
#include "reports/page/page_source.h"
#include "reports/page/page_text.h"
#include "reports/page/page_words.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/deflated.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/headline.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/telemetry_text.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kLogBytes = 64 * 1024;      // of each log
constexpr std::size_t kAllLogsBytes = 1'500'000;  // of a page
constexpr std::size_t kBlockBytes = 256 * 1024;   // of text, inflated when somebody looks
constexpr std::size_t kIndexBytes = 64 * 1024;    // what is kept free for the last block
constexpr std::size_t kDataTextBytes = 4000;      // of one text that somebody else wrote
constexpr std::size_t kIdBytes = 1000;
constexpr std::size_t kCommandBytes = 16'000;
constexpr std::size_t kMostFailures = 20;
constexpr std::size_t kMostMeasures = 200;

std::string cut_text(std::string_view bytes, std::size_t limit = kDataTextBytes) {
  return bytes.size() <= limit ? page_text(bytes) : truncate(page_text(bytes), limit);
}

// Between what is before a part that stands for each case, and what follows it.
constexpr char kForEach = '\x1f';

// A text with such a part in it.
std::string around(const std::string& text, const std::string& part) {
  const std::size_t at = part.empty() ? std::string::npos : text.find(part);
  if (at == std::string::npos) return text;
  return text.substr(0, at) + kForEach + text.substr(at + part.size());
}

// The texts of a column: each once, in the order in which they came. "" is the first.
class TextTable {
 public:
  explicit TextTable(std::size_t limit) : limit_(limit) { place_of(""); }

  std::uint32_t place_of(std::string_view text) {
    const auto found = places_.find(text);
    if (found != places_.end()) return found->second;
    const auto [entry, is_new] = places_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    texts_.push_back(&entry->first);
    return entry->second;
  }
  // A command or an address is written as what is before kForEach, and what follows it.
  void write(JsonWriter& json, std::string_view name) const {
    json.open_array(name);
    for (const std::string* text : texts_) {
      const std::size_t at = limit_ == kCommandBytes ? text->find(kForEach) : std::string::npos;
      if (limit_ == kCommandBytes) json.open_array();
      json.item(cut_text(text->substr(0, at), limit_));
      if (at != std::string::npos) json.item(cut_text(text->substr(at + 1), limit_));
      if (limit_ == kCommandBytes) json.close();
    }
    json.close();
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::size_t limit_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> places_;
  std::vector<const std::string*> texts_;
};

// One number of each case, or one for all where they are equal.
class Column {
 public:
  explicit Column(std::string_view name) : name_(name) {}

  void add(std::int64_t value) { values_.push_back(value); }
  void write(JsonWriter& json) const {
    const bool same =
        std::ranges::all_of(values_, [this](std::int64_t one) { return one == values_.front(); });
    if (same) {
      json.member(name_, values_.empty() ? 0 : values_.front());
      return;
    }
    json.open_array(name_);
    for (const std::int64_t value : values_) json.item(value);
    json.close();
  }

 private:
  std::string_view name_;
  std::vector<std::int64_t> values_;
};

std::string block_of(const std::function<void(JsonWriter&)>& write) {
  DeflatedText deflated(kQuickly);
  {
    TextOutput output([&deflated](std::string_view piece) { deflated.add(piece); });
    JsonWriter json(output);
    write(json);
  }
  return base64(deflated.finish());
}

// Records of one kind, in blocks of kBlockBytes; a record is of the block whose first number is not above its own.
class Blocks {
 public:
  Blocks(std::string name, std::size_t budget) : name_(std::move(name)), budget_(budget) {}

  bool has_room() const { return done_bytes_ + text_.size() < budget_; }

  void add(const std::function<void(JsonWriter&)>& write) {
    if (text_.empty()) firsts_.push_back(count_);
    text_ += text_.empty() ? '[' : ',';
    text_ += text_of([&write](TextOutput& output) {
      JsonWriter json(output);
      write(json);
    });
    ++count_;
    if (text_.size() >= kBlockBytes) close();
  }
  void close() {
    if (text_.empty()) return;
    DeflatedText deflated(kQuickly);
    deflated.add(text_ + ']');
    blocks_.push_back({name_ + std::to_string(blocks_.size()), base64(deflated.finish())});
    done_bytes_ += blocks_.back().base64.size();
    text_.clear();
  }
  std::uint32_t count() const { return count_; }
  const std::vector<std::uint32_t>& firsts() const { return firsts_; }
  const std::vector<PageBlock>& blocks() const { return blocks_; }

 private:
  std::string name_;
  std::size_t budget_;
  std::size_t done_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> firsts_;
  std::string text_;  // of the block that is not full yet
  std::vector<PageBlock> blocks_;
};

std::string name_in_suite(const std::string& id) { return id.substr(id.find('/') + 1); }

// ---- The list ----

// The newest attempt that has an end; null for none.
const AttemptEnded* newest_end(const ResolvedCase& test) {
  const AttemptEnded* newest = nullptr;
  for (const Attempt& attempt : test.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  return newest;
}

std::string rule_text(const ResolvedCase& test) {
  const AttemptEnded* end = newest_end(test);
  return end == nullptr || (end->rule + end->source).empty() ? "" : end->rule + '\n' + end->source;
}

std::string marks_text(const ResolvedCase& test) { return joined(texts_of(test.marks), "\n"); }

std::string verdict_lines(const ResolvedCase& test) {
  const Verdict& verdict = test.verdict;
  return fmt::format("{}\n{}\n{}", to_string(verdict.outcome), verdict.reason.text(), look_of(test));
}

// The same line for many cases: how each of them is run again.
std::string rerun_text(const RerunLine& line) {
  return line.after ? line.before + kForEach + *line.after : line.before;
}

std::string log_text(const ResolvedCase& test) {
  if (test.attempts.empty()) return "";
  const std::string address = file_address(test.attempts.back().start.log);
  return around(address, file_address(name_in_suite(test.planned.id)));
}

// The outcomes of a case in the runs before, as page.js reads them.
std::string past_text(const Past& past, std::size_t index) {
  std::string text;
  if (index >= past.cases.size()) return text;
  for (const PastOutcome& outcome : past.cases[index]) {
    fmt::format_to(
        std::back_inserter(text), "{}{}", text.empty() ? "" : ",",
        outcome.run * 32 + static_cast<std::uint32_t>(outcome.outcome) * 2 + (outcome.flaky ? 1 : 0));
  }
  return text;
}

const Flakiness* flakiness_of(const PageRun& run, const ResolvedCase& test) {
  if (run.past == nullptr || test.index >= run.past->flakiness.size()) return nullptr;
  const auto& flakiness = run.past->flakiness[test.index];
  return flakiness ? &*flakiness : nullptr;
}

// In thousandths; -1 where it is not known.
std::int64_t flaky_share(const Flakiness* flaky) {
  if (flaky == nullptr) return -1;
  return flaky->runs == 0 ? 0 : 1000LL * flaky->disagreeing / flaky->runs;
}

// A text that stands for itself has no place of its own.
std::string unless_same(std::string text, const std::string& as_is) { return text == as_is ? "" : text; }

class ListWriter {
 public:
  explicit ListWriter(const PageRequest& request) : request_(request) {}

  // `detail`: its number, from 1, among those with details; 0 for none.
  void add(const PageCase& shown, std::int64_t detail) {
    const PageRun& run = request_.runs[shown.run];
    const ResolvedCase& test = shown.test;
    const PlannedCase& planned = test.planned;
    ids_.push_back(&planned.id);
    next_ = 0;
    put("run", shown.run);
    put_text("suite", "suites", suite_name(planned.suite, planned.backend));
    put("variant", variant_number(request_, shown));
    put_text("verdict", "verdicts", verdict_lines(test), kIdBytes);
    const bool says = test.standing != Standing::kPassing || test.bad || test.moved || test.flaky;
    put_text("message", "messages", says ? std::string_view(message_line(test)) : "");
    put("cause", cause_number(request_, shown));
    put_text("device", "devices", telling_devices(test), kIdBytes);
    put_text("marks", "marksets", marks_text(test));
    put("problem", test.bad ? static_cast<std::size_t>(test.problem) : 0);
    put("bad", test.bad);
    put("isNew", shown.is_new);
    put("duration", test.duration_ms);
    put_text("took", "durations", human_duration(Milliseconds(test.duration_ms)));
    put("isFlaky", test.flaky);
    put("attempts", attempt_count(test));
    put("age", shown.failing_runs);
    put_text("log", "logs", log_text(test), kCommandBytes);
    put_text("rerun", "reruns", rerun_text(*test.rerun), kCommandBytes);
    put_text("rule", "rules", rule_text(test));
    put_text("kind", "kinds", planned.kind);
    put_text("quoted", "quotes", unless_same(quoted_word(planned.id), planned.id));
    const std::string name = name_in_suite(planned.id);
    put_text("address", "addresses", unless_same(file_address(name), name));
    put("flaky", flaky_share(flakiness_of(run, test)));
    put("detail", detail);
    put("past", pasts_.place_of(run.past == nullptr ? "" : past_text(*run.past, test.index)));
  }

  void write(JsonWriter& json) const {
    json.open_object().member("version", 1).open_array("runs");
    for (const PageRun& run : request_.runs) write_run(json, run);
    json.close().open_object("signs");
    for (const Look& look : all_looks()) json.member(look.name, look.sign);
    json.close().open_object("looks");
    for (const Outcome outcome : kAllOutcomes) json.member(to_string(outcome), look_of(outcome));
    json.close().open_object("words");
    for (const PageWord& word : all_words()) write_word(json, word);
    json.close().open_array("problems");
    for (const Blame blame : {Blame::kNobody, Blame::kCode, Blame::kMachine, Blame::kSetup})
      json.item(to_string(blame));
    json.close().open_array("variants");
    for (const PageRun& run : request_.runs) {
      for (const Variant& variant : run.resolved.variants) json.item(cut_text(to_string(variant)));
    }
    json.close().open_array("id");
    for (const std::string* id : ids_) json.item(cut_text(*id, kIdBytes));
    json.close();
    if (ids_.empty()) write_nothing(json);
    for (const auto& [name, table] : tables_) table.write(json, name);
    for (const Column& column : columns_) column.write(json);
    json.close();
  }

  bool has_past() const { return pasts_.texts().size() > 1; }
  void write_past(JsonWriter& json) const {
    json.open_object().open_array("runs");
    for (const PageRun& run : request_.runs) write_past_runs(json, run.past);
    json.close().open_array("bad");
    for (const PageRun& run : request_.runs) write_bad_counts(json, run.past);
    json.close().open_array("outcomes");
    for (const Outcome outcome : kAllOutcomes) json.item(to_string(outcome));
    json.close().open_array("cases");
    for (const std::string* text : pasts_.texts()) json.item(*text);
    json.close().close();
  }

 private:
  // Every case puts the same columns in the same order; the first one makes them.
  void put(std::string_view name, std::int64_t value) {
    if (next_ == columns_.size()) columns_.emplace_back(name);
    columns_[next_++].add(value);
  }
  void put_text(std::string_view name, std::string_view table, std::string_view text,
                std::size_t limit = kDataTextBytes) {
    put(name, tables_.try_emplace(table, limit).first->second.place_of(text));
  }

  // Of a page without cases: what the cases of another page make.
  static void write_nothing(JsonWriter& json) {
    for (const std::string_view table : {"suites", "verdicts", "messages", "devices", "marksets", "durations",
                                         "logs", "reruns", "rules", "kinds", "quotes", "addresses"})
      json.open_array(table).close();
    for (const std::string_view column :
         {"run",  "suite", "variant",  "verdict", "message", "cause",    "device", "marks", "problem",
          "bad",  "isNew", "duration", "took",    "isFlaky", "attempts", "age",    "log",   "rerun",
          "rule", "kind",  "quoted",   "address", "flaky",   "detail",   "past"})
      json.member(column, 0);
  }

  static void write_word(JsonWriter& json, const PageWord& word) {
    if (word.several.empty())
      json.member(word.name, word.one);
    else
      json.open_array(word.name).item(word.one).item(word.several).close();
  }

  static void write_run(JsonWriter& json, const PageRun& run) {
    const RunPlanned& plan = run.resolved.plan;
    json.open_object()
        .member("id", cut_text(plan.run_id, kIdBytes))
        .member("started", cut_text(plan.started, kIdBytes))
        .member("directory", cut_text(plan.directory))
        .member("link", run.link)
        .close();
  }

  static void write_past_runs(JsonWriter& json, const Past* past) {
    json.open_array();
    for (std::size_t i = 0; past != nullptr && i < past->runs.size(); ++i) {
      const PastRun& run = past->runs[i];
      json.open_array();
      for (const std::string* text : {&run.run_id, &run.started, &run.commit, &run.branch})
        json.item(cut_text(*text, kIdBytes));
      json.item(cut_text(run.stack)).close();
    }
    json.close();
  }

  // How many cases failed in each run before.
  static void write_bad_counts(JsonWriter& json, const Past* past) {
    std::vector<std::int64_t> counts(past == nullptr ? 0 : past->runs.size());
    for (std::size_t i = 0; past != nullptr && i < past->cases.size(); ++i) {
      for (const PastOutcome& outcome : past->cases[i]) {
        if (outcome.standing == Standing::kFailing) ++counts[outcome.run];
      }
    }
    json.open_array();
    for (const std::int64_t count : counts) json.item(count);
    json.close();
  }

  const PageRequest& request_;
  std::vector<const std::string*> ids_;
  std::map<std::string_view, TextTable> tables_;
  std::vector<Column> columns_;
  std::size_t next_ = 0;  // of `columns_`, of the case that is added
  TextTable pasts_{kDataTextBytes};
};

// ---- The logs of bad attempts ----

// Which log of the page an attempt has, and each of its ranks.
class Logs {
 public:
  Logs(const PageRequest& request, std::size_t budget)
      : request_(request), blocks_("logs", std::min(kAllLogsBytes, budget)) {
    for (const PageRun& run : request.runs) files_.emplace_back(run.run_dir);
  }

  void add(const PageCase& shown) {
    for (const Attempt& attempt : shown.test.attempts) {
      if (!is_bad(verdict_of(attempt).outcome)) continue;
      add(shown.run, attempt.start.log, attempt.end ? &attempt.end->output : nullptr);
      if (!attempt.end) continue;
      for (const RankEnd& rank : attempt.end->ranks) {
        if (rank.log != attempt.start.log) add(shown.run, rank.log, nullptr);
      }
    }
  }
  std::optional<std::uint32_t> place_of(std::uint32_t run, const std::string& log) const {
    const auto found = places_.find(key(run, log));
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  std::size_t left_out() const { return left_out_; }
  Blocks& blocks() { return blocks_; }

 private:
  static std::string key(std::uint32_t run, const std::string& log) {
    return std::to_string(run) + '\n' + log;
  }

  void add(std::uint32_t run, const std::string& log, const OutputInfo* output) {
    if (log.empty() || places_.contains(key(run, log))) return;
    if (!blocks_.has_room()) {
      ++left_out_;
      return;
    }
    auto tail = files_[run].tail(log, kLogBytes);
    if (!tail && output != nullptr) tail = kept(*output);
    if (!tail || tail->text.empty()) return;
    places_.emplace(key(run, log), blocks_.count());
    blocks_.add([&](JsonWriter& json) {
      json.open_object().member("all", tail->is_all).member("text", page_text(tail->text)).close();
    });
  }

  // What the journal has of it, where the file is not there any more.
  static std::optional<RunFiles::Tail> kept(const OutputInfo& output) {
    const std::string text = output.stdout_tail + output.stderr_tail;
    if (text.empty()) return std::nullopt;
    return RunFiles::Tail{.text = text, .is_all = output.bytes <= text.size()};
  }

  const PageRequest& request_;
  std::vector<RunFiles> files_;
  Blocks blocks_;
  std::unordered_map<std::string, std::uint32_t> places_;
  std::size_t left_out_ = 0;
};

// ---- What is said of one case alone ----

// A label, its text, and where that leads. Nothing where there is no text.
void write_fact(JsonWriter& json, std::string_view label, std::string_view text,
                const std::string& href = "") {
  if (text.empty()) return;
  json.open_array().item(cut_text(label)).item(cut_text(text));
  if (!href.empty()) json.item(href);
  json.close();
}

std::string exit_text(const std::optional<int>& code, const std::optional<int>& signal) {
  if (signal) return fmt::format("signal {}", *signal);
  return code ? fmt::format("code {}", *code) : "";
}

std::string termination_text(const Termination& termination) {
  if (termination.signal_sent == 0) return "";
  std::string text = fmt::format("by us, signal {}", termination.signal_sent);
  if (termination.forced)
    text += fmt::format(", then SIGKILL; gone after {} ms", termination.kill_to_empty_ms);
  return termination.unreapable ? text + "; a process could not be killed" : text;
}

// "code (the stack under test: Level Zero driver 26.31) · oom: out of memory"
std::string whose_problem(const ResolvedCase& test) {
  if (!test.bad && !test.moved) return "";
  std::string text(to_string(test.problem));
  if (const std::string culprit = culprit_of(test); !culprit.empty()) text += " (" + culprit + ")";
  const std::string cause = cause_text(test.diagnosis);
  return cause.empty() ? text : text + " · " + cause;
}

// What the page shows of one odd case. The script renders it; every label is made here.
class Details {
 public:
  Details(const PageRequest& request, const Logs& logs) : request_(request), logs_(logs) {}

  void write(JsonWriter& json, const PageCase& shown) const {
    const ResolvedCase& test = shown.test;
    json.open_object().member_if_any("note", test.end ? cut_text(test.end->note) : "");
    write_facts(json, shown);
    if (const Diagnosis* diagnosis = test.diagnosis; diagnosis != nullptr && diagnosis->where != "outcome") {
      json.member_if_any("diagnosis", cut_text(diagnosis->rule));
      json.member("explain", cut_text(shell_quote(diagnosis->rule)));
    }
    json.open_array("attempts");
    for (const Attempt& attempt : test.attempts) write_attempt(json, shown.run, attempt);
    json.close();
    if (const AttemptEnded* end = newest_end(test)) write_measures(json, *end);
    write_durations(json, request_.runs[shown.run], test);
    json.close();
  }

 private:
  void write_facts(JsonWriter& json, const PageCase& shown) const {
    const ResolvedCase& test = shown.test;
    const auto past = past_of(request_.runs[shown.run], test);
    std::string change(shown.change ? to_string(*shown.change) : "");
    std::ranges::replace(change, '_', ' ');
    json.open_array("facts");
    write_fact(json, words::whose_problem.one, whose_problem(test));
    write_fact(json, words::next.one, next_text(test.diagnosis));
    write_fact(json, "Where to look", test.bad ? where_to_look(test) : "");
    write_fact(json, "Known failure", test.end ? test.end->known_failure : "");
    write_fact(json, "Against the run before", change);
    write_fact(json, "Bad", test.bad && past && past->failing_runs > 0 ? age_text(*past) : "");
    write_fact(json, "Before", past ? flaky_text(*past) : "");
    json.close();
  }

  void write_attempt(JsonWriter& json, std::uint32_t run, const Attempt& attempt) const {
    const Verdict& verdict = verdict_of(attempt);
    json.open_object().member("n", attempt.start.attempt);
    if (attempt.start.repeat != 1) json.member("repeat", attempt.start.repeat);
    json.member("verdict", cut_text(to_string(verdict), kIdBytes)).member("look", look_of(verdict));
    write_log(json, run, attempt.start.log);
    json.open_array("facts");
    write_fact(json, words::devices.one, joined(attempt.start.devices, ", "));
    if (attempt.end) write_end_facts(json, request_.runs[run], attempt);
    json.close();
    if (attempt.end) write_end(json, run, *attempt.end);
    json.close();
  }

  static void write_end_facts(JsonWriter& json, const PageRun& run, const Attempt& attempt) {
    const AttemptEnded& end = *attempt.end;
    const std::int64_t lost = end.output.dropped_bytes;
    const std::string core = file_address(end.evidence.core.file);
    write_fact(json, "Exit", exit_text(end.exit_code, end.exit_signal));
    write_fact(json, "Marks", joined(texts_of(end.marks), ", "));
    write_fact(json, "Last step", end.last_step);
    write_fact(json, "Ended", termination_text(end.termination));
    write_fact(json, "Left behind", leak_text(end.termination));
    write_fact(json, "Telemetry", telemetry_text(attempt.telemetry()));
    write_fact(json, "Output lost", lost > 0 ? thousands(static_cast<std::size_t>(lost)) + " bytes" : "");
    write_fact(json, "Core", core, run.link ? *run.link + core : "");
  }

  void write_end(JsonWriter& json, std::uint32_t run, const AttemptEnded& end) const {
    json.member("took", human_duration(Milliseconds(end.duration_ms)));
    std::string evidence;
    for (const std::string& line : end.evidence.lines)
      evidence += (evidence.empty() ? "" : "\n") + cut_text(line);
    json.member_if_any("evidence", evidence);
    json.member_if_any("evidenceFile", file_address(end.evidence.file));
    write_failures(json, request_.runs[run].resolved.plan, end.failures);
    if (end.ranks.empty()) return;
    json.open_array("ranks");
    for (const RankEnd& rank : end.ranks) write_rank(json, run, rank);
    json.close();
  }

  void write_log(JsonWriter& json, std::uint32_t run, const std::string& log) const {
    json.member_if_any("log", file_address(log));
    if (const auto place = logs_.place_of(run, log)) json.member("tail", *place);
  }

  static void write_failures(JsonWriter& json, const RunPlanned& plan, const std::vector<Failure>& failures) {
    if (failures.empty()) return;
    json.open_array("failures");
    for (std::size_t i = 0; i < std::min(failures.size(), kMostFailures); ++i) {
      const Failure& failure = failures[i];
      const std::string place = failure.file.empty() ? "" : fmt::format("{}:{}", failure.file, failure.line);
      json.open_object().member("message", failure.message.empty() ? "failed" : cut_text(failure.message));
      json.open_array("facts");
      write_fact(json, "At", place, source_address(plan, failure.file, failure.line));
      write_fact(json, "Expected", failure.expected);
      write_fact(json, "Got", failure.got);
      write_fact(json, words::rule.one, failure.rule);
      write_fact(json, words::device.one, failure.device);
      json.close().close();
    }
    json.close();
    if (failures.size() > kMostFailures) json.member("moreFailures", failures.size() - kMostFailures);
  }

  void write_rank(JsonWriter& json, std::uint32_t run, const RankEnd& rank) const {
    json.open_object().member("n", rank.rank);
    json.member("verdict", rank.verdict ? cut_text(to_string(*rank.verdict), kIdBytes) : "no result");
    json.member("look", rank.verdict ? look_of(*rank.verdict) : "unrun");
    write_log(json, run, rank.log);
    json.open_array("facts");
    write_fact(json, words::devices.one, joined(rank.devices, ", "));
    std::vector<std::string> exit = {exit_text(rank.exit_code, rank.exit_signal)};
    if (rank.ended_by_runner) exit.emplace_back("ended by us");
    std::erase(exit, "");
    write_fact(json, "Exit", joined(exit, ", "));
    write_fact(json, "Last step", rank.last_step);
    json.close().close();
  }

  static void write_measures(JsonWriter& json, const AttemptEnded& end) {
    json.open_array("measures");
    for (std::size_t i = 0; i < std::min(end.measures.size(), kMostMeasures); ++i) {
      const Measure& measure = end.measures[i];
      json.open_array().item(cut_text(measure.name)).item(measure.value).item(cut_text(measure.unit));
      json.item(measure.n).item(measure.spread).close();
    }
    json.close().open_array("properties");
    for (std::size_t i = 0; i < std::min(end.properties.size(), kMostMeasures); ++i)
      write_fact(json, end.properties[i].first, end.properties[i].second);
    json.close();
  }

  static void write_durations(JsonWriter& json, const PageRun& run, const ResolvedCase& test) {
    if (run.past == nullptr || test.index >= run.past->cases.size()) return;
    json.open_array("pastMs");
    for (const PastOutcome& outcome : run.past->cases[test.index]) json.item(outcome.duration_ms);
    json.close().open_array("pastTook");
    for (const PastOutcome& outcome : run.past->cases[test.index])
      json.item(human_duration(Milliseconds(outcome.duration_ms)));
    json.close();
    const Flakiness* flaky = flakiness_of(run, test);
    if (flaky == nullptr) return;
    json.open_array("flakiness").item(flaky->runs).item(flaky->disagreeing);
    json.item(flaky->low).item(flaky->high).close();
  }

  const PageRequest& request_;
  const Logs& logs_;
};

// ---- What comes first where there is not room for all ----

// The first case of each cause before the second ones, so that each cause has a log.
std::vector<std::uint32_t> in_turn(const PageRequest& request, const std::vector<PageCase>& cases) {
  std::unordered_map<std::size_t, std::uint32_t> seen;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> turns;
  for (std::uint32_t i = 0; i < cases.size(); ++i) {
    if (cases[i].odd) turns.emplace_back(seen[cause_number(request, cases[i])]++, i);
  }
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  std::vector<std::uint32_t> order;
  for (const auto& [turn, i] : turns) order.push_back(i);
  return order;
}

// All cases: bad ones first, then other odd ones.
std::vector<std::uint32_t> odd_first(const std::vector<PageCase>& cases) {
  std::vector<std::uint32_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&cases](std::uint32_t i) {
    return cases[i].test.bad ? 0 : cases[i].odd ? 1 : 2;
  });
  return order;
}

void write_numbers(JsonWriter& json, std::string_view name, const std::vector<std::uint32_t>& numbers) {
  json.open_array(name);
  for (const std::uint32_t number : numbers) json.item(number);
  json.close();
}

void append(const Blocks& blocks, PageData& data) {
  data.blocks.insert(data.blocks.end(), blocks.blocks().begin(), blocks.blocks().end());
}

}  // namespace

std::size_t PageData::bytes() const {
  constexpr std::size_t kAround = 80;  // its element
  std::size_t sum = 0;
  for (const PageBlock& block : blocks) sum += block.base64.size() + kAround;
  return sum;
}

PageData page_data(const PageRequest& request, const std::vector<PageCase>& cases, std::size_t budget) {
  PageData data;
  const std::vector<std::uint32_t> order = odd_first(cases);
  const auto odd = static_cast<std::size_t>(std::ranges::count(cases, true, &PageCase::odd));

  // Half of the room is the list's, where it needs that much.
  for (std::size_t most = cases.size();; most /= 2) {
    std::vector<std::int64_t> details(cases.size(), -1);  // -1: not in the list
    for (std::size_t place = 0; place < most; ++place)
      details[order[place]] = place < odd ? static_cast<std::int64_t>(place) + 1 : 0;
    ListWriter list(request);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (details[i] >= 0) list.add(cases[i], details[i]);
    }
    data.blocks = {{"list", block_of([&](JsonWriter& json) { list.write(json); })}};
    if (list.has_past())
      data.blocks.push_back({"past", block_of([&](JsonWriter& json) { list.write_past(json); })});
    data.cases_left_out = cases.size() - most;
    if (data.bytes() <= budget / 2 || most == 0) break;
  }

  Logs logs(request, budget / 8);
  for (const std::uint32_t i : in_turn(request, cases)) logs.add(cases[i]);
  logs.blocks().close();
  data.logs_left_out = logs.left_out();
  append(logs.blocks(), data);

  const std::size_t taken = data.bytes() + kIndexBytes + 2 * kBlockBytes;
  Blocks blocks("details", budget > taken ? budget - taken : 0);
  const Details writer(request, logs);
  for (std::size_t place = 0; place < odd && blocks.has_room(); ++place)
    blocks.add([&](JsonWriter& json) { writer.write(json, cases[order[place]]); });
  blocks.close();
  data.details_left_out = odd - blocks.count();
  append(blocks, data);

  data.blocks.push_back({"index", block_of([&](JsonWriter& json) {
                           json.open_object().member("details", blocks.count());
                           write_numbers(json, "detailsFirst", blocks.firsts());
                           write_numbers(json, "logsFirst", logs.blocks().firsts());
                           json.close();
                         })});
  return data;
}

}  // namespace proctor
