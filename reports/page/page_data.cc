#include "reports/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/text.h"
#include "reports/formats/json_writer.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/deflated.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/headline.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/telemetry_text.h"
#include "reports/resolve/truncate.h"
#include "reports/page/page_logs.h"
#include "reports/page/page_source.h"
#include "reports/page/page_text.h"
#include "reports/page/page_words.h"

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

// Each text once, in the order in which they came.
class TextTable {
 public:
  std::uint32_t place_of(std::string_view text) {
    const auto found = places_.find(text);
    if (found != places_.end()) return found->second;
    const auto [entry, is_new] = places_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    texts_.push_back(&entry->first);
    return entry->second;
  }
  void write(JsonWriter& json, std::string_view name, std::size_t limit = kDataTextBytes) const {
    json.open_array(name);
    for (const std::string* text : texts_) json.item(cut_text(*text, limit));
    json.close();
  }
  // Each as what is before kForEach, and what follows it.
  void write_around(JsonWriter& json, std::string_view name) const {
    json.open_array(name);
    for (const std::string* text : texts_) {
      const std::size_t at = text->find(kForEach);
      json.open_array().item(cut_text(text->substr(0, at), kCommandBytes));
      if (at != std::string::npos) json.item(cut_text(text->substr(at + 1), kCommandBytes));
      json.close();
    }
    json.close();
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

using Column = std::vector<std::int64_t>;

// One number where all are equal.
void write_column(JsonWriter& json, std::string_view name, const Column& column) {
  const bool same = std::ranges::all_of(column, [&](std::int64_t value) { return value == column.front(); });
  if (same) {
    json.member(name, column.empty() ? 0 : column.front());
    return;
  }
  json.open_array(name);
  for (const std::int64_t value : column) json.item(value);
  json.close();
}

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

  bool has_room() const { return done_bytes_ + (open_ ? open_->deflated.taken() : 0) < budget_; }

  void add(const std::function<void(JsonWriter&)>& write) {
    if (!open_) {
      firsts_.push_back(count_);
      open_ = std::make_unique<Open>();
      open_->json.open_array();
    }
    write(open_->json);
    open_->output.flush();
    ++count_;
    if (open_->deflated.taken() >= kBlockBytes) close();
  }
  void close() {
    if (!open_) return;
    open_->json.close();
    open_->output.flush();
    blocks_.push_back({name_ + std::to_string(blocks_.size()), base64(open_->deflated.finish())});
    done_bytes_ += blocks_.back().base64.size();
    open_.reset();
  }
  std::uint32_t count() const { return count_; }
  const std::vector<std::uint32_t>& firsts() const { return firsts_; }
  std::vector<PageBlock> take() { return std::move(blocks_); }

 private:
  struct Open {
    DeflatedText deflated{kQuickly};
    TextOutput output{[this](std::string_view piece) { deflated.add(piece); }};
    JsonWriter json{output};
  };

  std::string name_;
  std::size_t budget_;
  std::size_t done_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> firsts_;
  std::unique_ptr<Open> open_;
  std::vector<PageBlock> blocks_;
};

std::string name_in_suite(const std::string& id) { return id.substr(id.find('/') + 1); }

// ---- The list ----

struct Lists {
  TextTable suites, variants, verdicts, messages, devices, marks, logs, reruns, rules, kinds, pasts,
      durations, quoted, addresses;
};

std::string rule_text(const ResolvedCase& record) {
  const AttemptEnded* newest = nullptr;
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end) newest = &*attempt.end;
  }
  if (newest == nullptr || (newest->rule.empty() && newest->source.empty())) return "";
  return newest->rule + '\n' + newest->source;
}

class ListWriter {
 public:
  ListWriter(const PageRequest& request, const std::vector<PageCase>& cases,
             const std::vector<std::uint32_t>& details)
      : request_(request), cases_(cases), details_(details) {
    lists_.messages.place_of("");
    lists_.devices.place_of("");
    lists_.marks.place_of("");
    lists_.logs.place_of("");
    lists_.rules.place_of("");
    lists_.pasts.place_of("");
    lists_.quoted.place_of("");
    lists_.addresses.place_of("");
  }

  // The cases that `is_kept`, which is as long as all of them.
  std::string write(const std::vector<bool>& is_kept) {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (is_kept[i]) add(cases_[i], details_[i]);
    }
    return block_of([this](JsonWriter& json) { write_all(json); });
  }
  std::string write_past() const {
    return block_of([this](JsonWriter& json) { write_pasts(json); });
  }
  bool has_past() const { return lists_.pasts.texts().size() > 1; }

 private:
  void add(const PageCase& test, std::uint32_t detail) {
    const PageRun& run = request_.runs[test.run];
    const ResolvedCase& record = record_of(request_, test);
    const CaseResult& result = result_of(request_, test);
    ids_.push_back(&record.planned.id);
    run_.push_back(test.run);
    suite_.push_back(lists_.suites.place_of(suite_name(run.results.variants[result.variant])));
    variant_.push_back(static_cast<std::int64_t>(variant_number(request_, test.run, result.variant)));
    verdict_.push_back(verdict_of_result(result));
    const bool says = result.standing != Standing::kPassing || test.bad || test.moved || result.flaky;
    message_.push_back(says ? lists_.messages.place_of(message_of(request_, test)) : 0);
    const bool has_cause = (test.bad || test.moved || result.flaky) && result.cause != kNoCause;
    cause_.push_back(has_cause ? static_cast<std::int64_t>(cause_number(request_, test.run, result.cause))
                               : 0);
    device_.push_back(lists_.devices.place_of(result.device));
    marks_.push_back(test.odd ? marks_of(record) : 0);
    problem_.push_back(test.bad ? static_cast<std::int64_t>(test.blame) : 0);
    bad_.push_back(test.bad ? 1 : 0);
    new_.push_back(test.is_new ? 1 : 0);
    change_.push_back(test.change ? static_cast<std::int64_t>(*test.change) + 1 : 0);
    duration_.push_back(result.duration_ms);
    took_.push_back(lists_.durations.place_of(human_duration(Milliseconds(result.duration_ms))));
    is_flaky_.push_back(result.flaky ? 1 : 0);
    attempts_.push_back(result.attempts);
    age_.push_back(test.failing_runs);
    since_.push_back(test.since == kNotThere ? -1 : static_cast<std::int64_t>(test.since));
    log_.push_back(record.attempts.empty() ? 0 : log_of(record));
    rerun_.push_back(rerun_of(record));
    rule_.push_back(lists_.rules.place_of(rule_text(record)));
    kind_.push_back(lists_.kinds.place_of(record.planned.kind));
    quoted_.push_back(unless_same(lists_.quoted, shell_quote(record.planned.id), record.planned.id));
    const std::string name = name_in_suite(record.planned.id);
    address_.push_back(unless_same(lists_.addresses, file_address(name), name));
    detail_.push_back(detail == kNotThere ? 0 : static_cast<std::int64_t>(detail) + 1);
    add_past(run, test);
  }

  // Most texts are written as they are: no place of its own.
  static std::int64_t unless_same(TextTable& table, const std::string& text, const std::string& as_is) {
    return text == as_is ? 0 : table.place_of(text);
  }

  std::int64_t verdict_of_result(const CaseResult& result) {
    const auto text = fmt::format("{}\n{}\n{}", to_string(result.verdict.outcome),
                                  result.verdict.reason.text(), look_of(result.verdict, result.standing));
    return lists_.verdicts.place_of(text);
  }

  std::int64_t marks_of(const ResolvedCase& record) {
    std::string text;
    for (const MarkWord& mark : record.marks) text += (text.empty() ? "" : "\n") + mark.text();
    return lists_.marks.place_of(text);
  }

  // The same line for many cases: how each of them is run again.
  std::int64_t rerun_of(const ResolvedCase& record) {
    const RerunLine& line = *record.rerun;
    const auto [found, is_new] = reruns_.try_emplace(&line);
    if (is_new) found->second = lists_.reruns.place_of(line.after ? line.before + kForEach + *line.after : line.before);
    return found->second;
  }

  std::int64_t log_of(const ResolvedCase& record) {
    const std::string& log = record.attempts.back().start.log;
    const std::string address = file_address(log);
    return address.empty()
               ? 0
               : lists_.logs.place_of(around(address, file_address(name_in_suite(record.planned.id))));
  }

  void add_past(const PageRun& run, const PageCase& test) {
    const Past* past = run.past;
    const bool known = past != nullptr && test.index < past->cases.size();
    std::int64_t rate = -1;
    if (past != nullptr && test.index < past->flakiness.size() && past->flakiness[test.index]) {
      const Flakiness& flaky = *past->flakiness[test.index];
      rate = flaky.runs == 0 ? 0 : 1000LL * flaky.disagreeing / flaky.runs;
    }
    flaky_.push_back(rate);
    std::string text;
    if (known) {
      for (const PastOutcome& outcome : past->cases[test.index]) {
        fmt::format_to(
            std::back_inserter(text), "{}{}", text.empty() ? "" : ",",
            outcome.run * 32 + static_cast<std::uint32_t>(outcome.outcome) * 2 + (outcome.flaky ? 1 : 0));
      }
    }
    past_.push_back(lists_.pasts.place_of(text));
  }

  void write_all(JsonWriter& json) {
    json.open_object().member("version", 1).open_array("runs");
    for (const PageRun& run : request_.runs) write_run(json, run);
    json.close().open_array("changes");
    for (int change = 0; change <= static_cast<int>(Change::kFaster); ++change)
      json.item(to_string(static_cast<Change>(change)));
    json.close().open_object("signs");
    for (const Look& look : all_looks()) json.member(look.name, look.sign);
    json.close().open_object("looks");
    for (const Outcome outcome : kAllOutcomes) json.member(to_string(outcome), look_of(outcome));
    json.close().open_object("words");
    for (const PageWord& word : all_words()) write_word(json, word);
    json.close().open_array("problems");
    for (const Blame blame : {Blame::kNobody, Blame::kCode, Blame::kMachine, Blame::kSetup})
      json.item(to_string(blame));
    json.close();
    write_variants(json);
    lists_.suites.write(json, "suites");
    lists_.verdicts.write(json, "verdicts", kIdBytes);
    lists_.messages.write(json, "messages");
    lists_.devices.write(json, "devices", kIdBytes);
    lists_.marks.write(json, "marksets");
    lists_.logs.write_around(json, "logs");
    lists_.reruns.write_around(json, "reruns");
    lists_.rules.write(json, "rules");
    lists_.kinds.write(json, "kinds");
    lists_.durations.write(json, "durations");
    lists_.quoted.write(json, "quotes");
    lists_.addresses.write(json, "addresses");
    json.open_array("id");
    for (const std::string* id : ids_) json.item(cut_text(*id, kIdBytes));
    json.close();
    write_columns(json);
    json.close();
  }

  static void write_word(JsonWriter& json, const PageWord& word) {
    if (word.several.empty())
      json.member(word.name, word.one);
    else
      json.open_array(word.name).item(word.one).item(word.several).close();
  }

  void write_run(JsonWriter& json, const PageRun& run) const {
    const RunPlanned& plan = run.resolved.plan;
    json.open_object()
        .member("id", cut_text(plan.run_id, kIdBytes))
        .member("started", cut_text(plan.started, kIdBytes));
    json.member("directory", cut_text(plan.directory)).member("link", run.link);
    json.member("exec", plan.exec).close();
  }

  void write_variants(JsonWriter& json) const {
    json.open_array("variants");
    for (const PageRun& run : request_.runs) {
      for (const Variant& variant : run.results.variants) json.item(cut_text(to_string(variant)));
    }
    json.close();
  }

  void write_columns(JsonWriter& json) const {
    const std::initializer_list<std::pair<std::string_view, const Column*>> columns = {
        {"run", &run_},           {"suite", &suite_},   {"variant", &variant_}, {"verdict", &verdict_},
        {"message", &message_},   {"cause", &cause_},   {"device", &device_},   {"marks", &marks_},
        {"problem", &problem_},   {"bad", &bad_},       {"isNew", &new_},       {"change", &change_},
        {"duration", &duration_}, {"took", &took_},     {"quoted", &quoted_},   {"address", &address_},
        {"attempts", &attempts_}, {"age", &age_},       {"since", &since_},     {"flaky", &flaky_},
        {"past", &past_},         {"log", &log_},       {"rerun", &rerun_},     {"rule", &rule_},
        {"kind", &kind_},         {"detail", &detail_}, {"isFlaky", &is_flaky_}};
    for (const auto& [name, column] : columns) write_column(json, name, *column);
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

  void write_pasts(JsonWriter& json) const {
    json.open_object().open_array("runs");
    for (const PageRun& run : request_.runs) {
      json.open_array();
      if (run.past != nullptr) {
        for (const PastRun& past : run.past->runs) {
          json.open_array().item(cut_text(past.run_id, kIdBytes)).item(cut_text(past.started, kIdBytes));
          json.item(cut_text(past.commit, kIdBytes))
              .item(cut_text(past.branch, kIdBytes))
              .item(cut_text(past.stack));
          json.close();
        }
      }
      json.close();
    }
    json.close().open_array("bad");
    for (const PageRun& run : request_.runs) write_bad_counts(json, run.past);
    json.close().open_array("outcomes");
    for (const Outcome outcome : kAllOutcomes) json.item(to_string(outcome));
    json.close().open_array("cases");
    for (const std::string* text : lists_.pasts.texts()) json.item(*text);
    json.close().close();
  }

  const PageRequest& request_;
  const std::vector<PageCase>& cases_;
  const std::vector<std::uint32_t>& details_;
  Lists lists_;
  std::unordered_map<const RerunLine*, std::uint32_t> reruns_;
  std::vector<const std::string*> ids_;
  Column run_, suite_, variant_, verdict_, message_, cause_, device_, marks_, problem_, bad_, new_, change_,
      duration_, took_, quoted_, address_, attempts_, age_, since_, flaky_, past_, log_, rerun_, rule_, kind_,
      detail_, is_flaky_;
};

// ---- The logs of bad attempts ----

// Which log of the page an attempt has, and each of its ranks.
class Logs {
 public:
  Logs(const PageRequest& request, std::size_t budget)
      : request_(request), blocks_("logs", std::min(kAllLogsBytes, budget)) {
    for (const PageRun& run : request.runs) files_.emplace_back(run.run_dir);
  }

  void add(const PageCase& test) {
    for (const Attempt& attempt : record_of(request_, test).attempts) {
      if (!is_bad(proctor::verdict_of(attempt).outcome)) continue;
      add(test.run, attempt.start.log, attempt.end ? &attempt.end->output : nullptr);
      if (!attempt.end) continue;
      for (const RankEnd& rank : attempt.end->ranks) {
        if (rank.log != attempt.start.log) add(test.run, rank.log, nullptr);
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

class Details {
 public:
  Details(const PageRequest& request, const Logs& logs) : request_(request), logs_(logs) {}

  void write(JsonWriter& json, const PageCase& test) const {
    const PageRun& run = request_.runs[test.run];
    const ResolvedCase& record = record_of(request_, test);
    json.open_object();
    if (record.end) {
      json.member_if_any("note", cut_text(record.end->note));
      json.member_if_any("known", cut_text(record.end->known_failure));
    }
    if (test.bad) json.member_if_any("where", page_text(where_to_look(record)));
    if (const auto past = past_of(request_, test)) {
      if (test.bad && past->failing_runs > 0) json.member("age", page_text(age_text(*past)));
      json.member_if_any("flaky", flaky_text(*past));
    }
    write_diagnosis(json, test);
    json.open_array("attempts");
    for (const Attempt& attempt : record.attempts) write_attempt(json, test, attempt);
    json.close();
    write_measures(json, record);
    write_durations(json, run, test);
    json.close();
  }

 private:
  void write_diagnosis(JsonWriter& json, const PageCase& test) const {
    const Diagnosis* diagnosis = record_of(request_, test).diagnosis;
    if (diagnosis == nullptr) return;
    json.member_if_any("culprit", page_text(culprit_of(request_, test)));
    json.member_if_any("cause", page_text(cause_text(diagnosis)));
    json.member_if_any("next", page_text(next_text(diagnosis)));
    if (diagnosis->where == "outcome") return;
    json.member_if_any("diagnosis", cut_text(diagnosis->rule));
    json.member("explain", cut_text(shell_quote(diagnosis->rule)));
  }

  void write_attempt(JsonWriter& json, const PageCase& test, const Attempt& attempt) const {
    const Verdict verdict = proctor::verdict_of(attempt);
    json.open_object().member("n", attempt.start.attempt);
    if (attempt.start.repeat != 1) json.member("repeat", attempt.start.repeat);
    json.member("outcome", to_string(verdict.outcome))
        .member_if_any("reason", cut_text(verdict.reason.text(), kIdBytes));
    json.member("look", look_of(verdict, proctor::meaning_of(verdict).standing));
    if (!attempt.start.devices.empty()) write_texts(json, "devices", attempt.start.devices);
    write_log(json, test.run, attempt.start.log);
    if (attempt.end) write_end(json, test, attempt);
    json.close();
  }

  static void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    json.open_array(name);
    for (const std::string& text : texts) json.item(cut_text(text));
    json.close();
  }

  void write_log(JsonWriter& json, std::uint32_t run, const std::string& log) const {
    json.member_if_any("log", file_address(log));
    if (const auto place = logs_.place_of(run, log)) json.member("tail", *place);
  }

  void write_end(JsonWriter& json, const PageCase& test, const Attempt& attempt) const {
    const AttemptEnded& end = *attempt.end;
    json.member("took", human_duration(Milliseconds(end.duration_ms)))
        .member_if_any("exit", exit_text(end.exit_code, end.exit_signal));
    write_texts(json, "marks", texts_of(end.marks));
    json.member_if_any("step", cut_text(end.last_step))
        .member_if_any("ended", termination_text(end.termination));
    json.member_if_any("left", cut_text(leak_text(end.termination)));
    json.member_if_any("telemetry", cut_text(telemetry_text(request_.runs[test.run].resolved.telemetry(attempt))));
    if (end.output.dropped_bytes > 0) json.member("dropped", end.output.dropped_bytes);
    write_texts(json, "evidence", end.evidence.lines);
    json.member_if_any("evidenceFile", file_address(end.evidence.file));
    json.member_if_any("core", file_address(end.evidence.core.file));
    write_failures(json, request_.runs[test.run].resolved.plan, end.failures);
    if (end.ranks.empty()) return;
    json.open_array("ranks");
    for (const RankEnd& rank : end.ranks) write_rank(json, test.run, rank);
    json.close();
  }

  static std::string exit_text(const std::optional<int>& code, const std::optional<int>& signal) {
    if (signal) return fmt::format("signal {}", *signal);
    return code ? fmt::format("code {}", *code) : "";
  }

  static std::string termination_text(const Termination& termination) {
    if (termination.signal_sent == 0) return "";
    std::string text = fmt::format("by us, signal {}", termination.signal_sent);
    if (termination.forced)
      text += fmt::format(", then SIGKILL; gone after {} ms", termination.kill_to_empty_ms);
    return termination.unreapable ? text + "; a process could not be killed" : text;
  }

  static void write_failures(JsonWriter& json, const RunPlanned& plan, const std::vector<Failure>& failures) {
    if (failures.empty()) return;
    json.open_array("failures");
    for (std::size_t i = 0; i < std::min(failures.size(), kMostFailures); ++i) {
      const Failure& failure = failures[i];
      const std::string place = failure.file.empty() ? "" : fmt::format("{}:{}", failure.file, failure.line);
      json.open_object()
          .member_if_any("message", cut_text(failure.message))
          .member_if_any("at", cut_text(place))
          .member_if_any("atHref", source_address(plan, failure.file, failure.line));
      json.member_if_any("expected", cut_text(failure.expected)).member_if_any("got", cut_text(failure.got));
      json.member_if_any("rule", cut_text(failure.rule))
          .member_if_any("device", cut_text(failure.device))
          .close();
    }
    json.close();
    if (failures.size() > kMostFailures) json.member("moreFailures", failures.size() - kMostFailures);
  }

  void write_rank(JsonWriter& json, std::uint32_t run, const RankEnd& rank) const {
    json.open_object().member("n", rank.rank);
    const Verdict verdict = rank.verdict.value_or(Verdict{});
    json.member("outcome", rank.verdict ? cut_text(to_string(verdict), kIdBytes) : "no result");
    json.member("look", rank.verdict ? look_of(verdict, proctor::meaning_of(verdict).standing) : "unrun");
    write_texts(json, "devices", rank.devices);
    std::string exit = exit_text(rank.exit_code, rank.exit_signal);
    if (rank.ended_by_runner) exit += ", ended by us";
    json.member_if_any("exit", exit).member_if_any("step", cut_text(rank.last_step));
    write_log(json, run, rank.log);
    json.close();
  }

  static void write_measures(JsonWriter& json, const ResolvedCase& record) {
    const AttemptEnded* newest = nullptr;
    for (const Attempt& attempt : record.attempts) {
      if (attempt.end) newest = &*attempt.end;
    }
    if (newest == nullptr) return;
    if (!newest->measures.empty()) {
      json.open_array("measures");
      for (std::size_t i = 0; i < std::min(newest->measures.size(), kMostMeasures); ++i) {
        const Measure& measure = newest->measures[i];
        json.open_array().item(cut_text(measure.name)).item(measure.value).item(cut_text(measure.unit));
        json.item(measure.n).item(measure.spread).close();
      }
      json.close();
    }
    if (newest->properties.empty()) return;
    json.open_array("properties");
    for (std::size_t i = 0; i < std::min(newest->properties.size(), kMostMeasures); ++i) {
      const auto& [name, value] = newest->properties[i];
      json.open_array().item(cut_text(name)).item(cut_text(value)).close();
    }
    json.close();
  }

  static void write_durations(JsonWriter& json, const PageRun& run, const PageCase& test) {
    if (run.past == nullptr || test.index >= run.past->cases.size()) return;
    json.open_array("pastMs");
    for (const PastOutcome& outcome : run.past->cases[test.index]) json.item(outcome.duration_ms);
    json.close().open_array("pastTook");
    for (const PastOutcome& outcome : run.past->cases[test.index])
      json.item(human_duration(Milliseconds(outcome.duration_ms)));
    json.close();
    if (test.index >= run.past->flakiness.size() || !run.past->flakiness[test.index]) return;
    const Flakiness& flaky = *run.past->flakiness[test.index];
    json.open_array("flakiness")
        .item(flaky.runs)
        .item(flaky.disagreeing)
        .item(flaky.low)
        .item(flaky.high)
        .close();
  }

  const PageRequest& request_;
  const Logs& logs_;
};

// ---- What comes first where there is not room for all ----

// The first case of each cause before the second ones, so that each cause has a log.
std::vector<std::uint32_t> in_turn(const PageRequest& request, const std::vector<PageCase>& cases) {
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> turns;
  for (std::uint32_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].odd) continue;
    const std::uint64_t cause = result_of(request, cases[i]).cause;
    turns.emplace_back(seen[cause << 32 | cases[i].run]++, i);
  }
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  std::vector<std::uint32_t> order;
  for (const auto& [turn, i] : turns) order.push_back(i);
  return order;
}

// What has details: bad cases before others.
std::vector<std::uint32_t> odd_first_bad(const std::vector<PageCase>& cases) {
  std::vector<std::uint32_t> order;
  for (const bool bad : {true, false}) {
    for (std::uint32_t i = 0; i < cases.size(); ++i) {
      if (cases[i].odd && cases[i].bad == bad) order.push_back(i);
    }
  }
  return order;
}

std::vector<bool> first_of(const std::vector<PageCase>& cases, std::size_t most) {
  std::vector<bool> kept(cases.size());
  std::size_t count = 0;
  for (const int rank : {0, 1, 2}) {
    for (std::size_t i = 0; i < cases.size() && count < most; ++i) {
      const int of_this = cases[i].bad ? 0 : (cases[i].odd ? 1 : 2);
      if (of_this != rank) continue;
      kept[i] = true;
      ++count;
    }
  }
  return kept;
}

void write_numbers(JsonWriter& json, std::string_view name, const std::vector<std::uint32_t>& numbers) {
  json.open_array(name);
  for (const std::uint32_t number : numbers) json.item(number);
  json.close();
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
  const std::vector<std::uint32_t> odd = odd_first_bad(cases);
  std::vector<std::uint32_t> details(cases.size(), kNotThere);
  for (std::uint32_t place = 0; place < odd.size(); ++place) details[odd[place]] = place;

  // Half of the room is the list's, where it needs that much.
  for (std::size_t most = cases.size();; most /= 2) {
    ListWriter list(request, cases, details);
    data.blocks = {{"list", list.write(first_of(cases, most))}};
    if (list.has_past()) data.blocks.push_back({"past", list.write_past()});
    data.cases_left_out = cases.size() - most;
    if (data.bytes() <= budget / 2 || most == 0) break;
  }

  Logs logs(request, budget / 8);
  for (const std::uint32_t i : in_turn(request, cases)) logs.add(cases[i]);
  logs.blocks().close();
  data.logs_left_out = logs.left_out();
  std::vector<PageBlock> log_blocks = logs.blocks().take();
  data.blocks.insert(data.blocks.end(), std::make_move_iterator(log_blocks.begin()),
                     std::make_move_iterator(log_blocks.end()));

  const std::size_t taken = data.bytes() + kIndexBytes + 2 * kBlockBytes;
  Blocks blocks("details", budget > taken ? budget - taken : 0);
  const Details writer(request, logs);
  for (const std::uint32_t i : odd) {
    if (!blocks.has_room()) break;
    blocks.add([&](JsonWriter& json) { writer.write(json, cases[i]); });
  }
  blocks.close();
  data.details_left_out = odd.size() - blocks.count();
  std::vector<PageBlock> detail_blocks = blocks.take();
  data.blocks.insert(data.blocks.end(), std::make_move_iterator(detail_blocks.begin()),
                     std::make_move_iterator(detail_blocks.end()));

  data.blocks.push_back({"index", block_of([&](JsonWriter& json) {
                           json.open_object().member("details", blocks.count());
                           write_numbers(json, "detailsFirst", blocks.firsts());
                           write_numbers(json, "logsFirst", logs.blocks().firsts());
                           json.close();
                         })});
  return data;
}

}  // namespace proctor
