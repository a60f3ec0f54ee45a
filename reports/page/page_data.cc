#include "reports/page/page_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/page/page_text.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/deflated.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kLogBytes = 64 * 1024;      // for each log
constexpr std::size_t kAllLogsBytes = 1'500'000;  // for all logs of a page
constexpr std::size_t kBlockBytes =
    256 * 1024;  // inflated text of a block, which the script inflates on demand
constexpr std::size_t kIndexBytes = 64 * 1024;  // reserved for the block `index`
constexpr std::size_t kMostFailures = 20;
constexpr std::size_t kMostMeasures = 200;

// Collects records of one kind in blocks of kBlockBytes. The block of a record is the last one whose first number is
// not greater than that of the record.
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
  void append_to(std::vector<PageBlock>& blocks) {
    close();
    std::ranges::move(blocks_, std::back_inserter(blocks));
  }
  std::uint32_t count() const { return count_; }
  const std::vector<std::uint32_t>& firsts() const { return firsts_; }

 private:
  void close() {
    if (text_.empty()) return;
    DeflatedText deflated(kQuickly);
    deflated.add(text_ + ']');
    blocks_.push_back({name_ + std::to_string(blocks_.size()), base64(deflated.finish())});
    done_bytes_ += blocks_.back().base64.size();
    text_.clear();
  }

  std::string name_;
  std::size_t budget_;
  std::size_t done_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> firsts_;
  std::string text_;  // the text of the incomplete block
  std::vector<PageBlock> blocks_;
};

// ---- The logs of failed attempts ----

// Maps an attempt, and each of its ranks, to a log on the page.
class Logs {
 public:
  Logs(const PageRequest& request, std::size_t budget)
      : request_(request), blocks_("logs", std::min(kAllLogsBytes, budget)) {
    for (const PageRun& run : request.runs) files_.emplace_back(run.run_dir);
  }

  void add(const PageCase& shown) {
    for (const Attempt& attempt : shown.test.attempts) {
      if (!is_bad(verdict_of(attempt).outcome) || is_unproven(attempt)) continue;
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

  // Returns the end of the output from the journal, if the log file no longer exists.
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

// ---- Details of one case ----

// A label, its text, and the target of its link. A fact without a text is not shown.
struct Fact {
  std::string_view label{};
  std::string text{};
  std::string href{};
};

void write_fact(JsonWriter& json, const Fact& fact) {
  if (fact.text.empty()) return;
  json.open_array().item(data_text(fact.label)).item(data_text(fact.text));
  if (!fact.href.empty()) json.item(fact.href);
  json.close();
}

void write_facts(JsonWriter& json, const std::vector<Fact>& facts) {
  write_items(json, "facts", facts, write_fact);
}

template <typename Item>
std::span<const Item> first_items(const std::vector<Item>& items, std::size_t most) {
  return std::span(items).first(std::min(items.size(), most));
}

std::string exit_text(const std::optional<int>& code, const std::optional<int>& signal) {
  if (signal) return signal_words(std::to_string(*signal));
  return code ? fmt::format("code {}", *code) : "";
}

// Returns " at the 4 s limit"; "" if the attempt did not exceed its time limit.
std::string limit_text(const PlannedCase& planned, const Verdict& verdict) {
  const bool is_limit = verdict.outcome == Outcome::kTimeout && verdict.reason.empty();
  return is_limit ? fmt::format(" at the {} limit", human_duration(Milliseconds(planned.timeout_ms))) : "";
}

std::string termination_text(const Termination& termination, const std::string& limit) {
  if (termination.signal_sent == 0) return "";
  std::string text = signal_name(termination.signal_sent) + limit;
  if (termination.forced)
    text += fmt::format(", then SIGKILL, which took {} ms", termination.kill_duration_ms);
  return termination.unkillable ? text + "; a process could not be killed" : text;
}

// Returns "code (the stack under test: Level Zero driver 26.31) · oom: out of memory".
std::string owner_text(const ResolvedCase& test) {
  if (!test.bad && !test.moved) return "";
  std::string text(to_string(test.problem));
  if (const std::string culprit = culprit_of(test); !culprit.empty()) text += " (" + culprit + ")";
  const std::string cause = cause_text(test.diagnosis);
  return cause.empty() ? text : text + " · " + cause;
}

void write_failure(JsonWriter& json, const RunPlanned& plan, const Failure& failure) {
  const std::string place = failure.file.empty() ? "" : fmt::format("{}:{}", failure.file, failure.line);
  json.member("message", failure.message.empty() ? "failed" : data_text(failure.message));
  write_facts(json, {{"At", place, source_address(plan, failure.file, failure.line)},
                     {"Expected", failure.expected},
                     {"Got", failure.got},
                     {"Rule", failure.rule},
                     {"Device", failure.device}});
}

void write_measure(JsonWriter& json, const Measure& measure) {
  json.open_array().item(data_text(measure.name)).item(measure.value).item(data_text(measure.unit));
  json.item(measure.n).item(measure.spread).close();
}

void write_durations(JsonWriter& json, const PageRun& run, const ResolvedCase& test) {
  if (run.past == nullptr || test.index >= run.past->cases.size()) return;
  const auto& outcomes = run.past->cases[test.index];
  write_items(json, "pastMs", outcomes,
              [](JsonWriter& out, const PastOutcome& outcome) { out.item(outcome.duration_ms); });
  write_items(json, "pastTook", outcomes, [](JsonWriter& out, const PastOutcome& outcome) {
    out.item(human_duration(Milliseconds(outcome.duration_ms)));
  });
  if (const Flakiness* flaky = flakiness_of(run, test)) {
    json.open_array("flakiness").item(flaky->runs).item(flaky->inconsistent_runs);
    json.item(flaky->low).item(flaky->high).close();
  }
}

// Writes the details of one odd case. The script renders them; all labels are written here.
class Details {
 public:
  Details(const PageRequest& request, const Logs& logs, const PageCase& shown)
      : run_(request.runs[shown.run]), logs_(logs), shown_(shown), test_(shown.test) {}

  void write(JsonWriter& json) const {
    json.open_object().member_if_any("note", test_.end ? data_text(test_.end->note) : "");
    write_facts(json, facts());
    if (const Diagnosis* diagnosis = test_.diagnosis; diagnosis != nullptr && diagnosis->where != "outcome") {
      json.member_if_any("diagnosis", data_text(diagnosis->rule));
      json.member("explain", data_text(shell_quote(diagnosis->rule)));
    }
    json.objects("attempts", test_.attempts,
                 [this](JsonWriter& out, const Attempt& attempt) { write_attempt(out, attempt); });
    if (const AttemptEnded* end = newest_end(test_)) {
      write_items(json, "measures", first_items(end->measures, kMostMeasures), write_measure);
      write_items(json, "properties", first_items(end->properties, kMostMeasures),
                  [](JsonWriter& out, const auto& property) {
                    write_fact(out, {property.first, property.second});
                  });
    }
    write_durations(json, run_, test_);
    json.close();
  }

 private:
  std::vector<Fact> facts() const {
    const CasePast* past = shown_.past.get();
    return {{"Owner", owner_text(test_)},
            {"Next", next_text(test_.diagnosis)},
            {"Where to look", test_.bad ? evidence_location(test_) : ""},
            {"Known failure", test_.end ? test_.end->known_failure : ""},
            {"Against the run before", shown_.change ? describe(*shown_.change) : ""},
            {"History", test_.bad && past != nullptr && past->failing_runs > 0 ? age_text(*past) : ""},
            {"Before", past != nullptr ? flaky_text(*past) : ""}};
  }

  void write_attempt(JsonWriter& json, const Attempt& attempt) const {
    const Verdict& verdict = verdict_of(attempt);
    json.member("n", attempt.start.attempt);
    if (attempt.start.repeat != 1) json.member("repeat", attempt.start.repeat);
    write_verdict(json, verdict);
    write_log(json, attempt.start.log);
    std::vector<Fact> facts = {{"Devices", joined(attempt.start.devices, ", ")}};
    if (attempt.end) add_facts(attempt, facts);
    write_facts(json, facts);
    if (attempt.end) write_end(json, *attempt.end);
  }

  static void write_verdict(JsonWriter& json, const Verdict& verdict) {
    json.member("verdict", data_text(readable(verdict), kIdBytes)).member("look", style_of(verdict));
    if (!verdict.reason.empty()) json.member("code", data_text(to_string(verdict), kIdBytes));
  }

  void add_facts(const Attempt& attempt, std::vector<Fact>& facts) const {
    const AttemptEnded& end = *attempt.end;
    const std::int64_t lost = end.output.dropped_bytes;
    const std::string core = file_address(end.evidence.core.file);
    facts.insert(facts.end(),
                 {{"Exit", exit_text(end.exit_code, end.exit_signal)},
                  {"Marks", joined(texts_of(end.marks), ", ")},
                  {"Last step", end.last_step},
                  {"Stopped by Proctor",
                   termination_text(end.termination, limit_text(test_.planned, verdict_of(attempt)))},
                  {"Left behind", leak_text(end.termination)},
                  {"Telemetry", telemetry_text(attempt.telemetry())},
                  {"Output lost", lost > 0 ? thousands(lost) + " bytes" : ""},
                  {"Core", core, run_.link ? *run_.link + core : ""}});
  }

  void write_end(JsonWriter& json, const AttemptEnded& end) const {
    json.member("took", human_duration(Milliseconds(end.duration_ms)));
    std::string evidence;
    for (const std::string& line : end.evidence.lines)
      evidence += (evidence.empty() ? "" : "\n") + data_text(line);
    json.member_if_any("evidence", evidence);
    json.member_if_any("evidenceFile", file_address(end.evidence.file));
    const auto& failures = end.failures;
    json.objects_if_any(
        "failures", first_items(failures, kMostFailures),
        [this](JsonWriter& out, const Failure& failure) { write_failure(out, run_.resolved.plan, failure); });
    if (failures.size() > kMostFailures) json.member("moreFailures", failures.size() - kMostFailures);
    json.objects_if_any("ranks", end.ranks,
                        [this](JsonWriter& out, const RankEnd& rank) { write_rank(out, rank); });
  }

  void write_log(JsonWriter& json, const std::string& log) const {
    json.member_if_any("log", file_address(log));
    if (const auto place = logs_.place_of(shown_.run, log)) json.member("tail", *place);
  }

  void write_rank(JsonWriter& json, const RankEnd& rank) const {
    json.member("n", rank.rank);
    if (rank.verdict)
      write_verdict(json, *rank.verdict);
    else
      json.member("verdict", "no result").member("look", "notrun");
    write_log(json, rank.log);
    std::string exit = exit_text(rank.exit_code, rank.exit_signal);
    if (rank.stopped_by_proctor) exit += exit.empty() ? "stopped by Proctor" : ", stopped by Proctor";
    write_facts(json,
                {{"Devices", joined(rank.devices, ", ")}, {"Exit", exit}, {"Last step", rank.last_step}});
  }

  const PageRun& run_;
  const Logs& logs_;
  const PageCase& shown_;
  const ResolvedCase& test_;
};

// ---- The order in which records are added until the budget is used ----

// Orders the first case of each cause before all second cases, so that each cause has a log.
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

// Orders all cases: failed ones first, then other odd ones.
std::vector<std::uint32_t> odd_first(const std::vector<PageCase>& cases) {
  std::vector<std::uint32_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&cases](std::uint32_t i) {
    return cases[i].test.bad ? 0 : cases[i].odd ? 1 : 2;
  });
  return order;
}

}  // namespace

RunFiles::RunFiles(const std::filesystem::path& run_dir) {
  if (!run_dir.empty()) directory_ = UniqueFd(::open(run_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd RunFiles::open(const std::string& file) const {
  if (!directory_ || !is_below_run_directory(file)) return {};
  UniqueFd opened;
  const std::filesystem::path path(file);
  for (auto part = path.begin(); part != path.end(); ++part) {
    const bool is_last = std::next(part) == path.end();
    const int kind = is_last ? O_NONBLOCK : O_DIRECTORY;
    opened = UniqueFd(::openat(opened ? opened.get() : directory_.get(), part->c_str(),
                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    if (!opened) return {};
  }
  struct stat run {};
  struct stat status {};
  const bool ours = ::fstat(directory_.get(), &run) == 0 && ::fstat(opened.get(), &status) == 0 &&
                    S_ISREG(status.st_mode) && status.st_uid == run.st_uid;
  return ours ? std::move(opened) : UniqueFd();
}

std::optional<RunFiles::Tail> RunFiles::tail(const std::string& log, std::size_t bytes) const {
  const UniqueFd file = open(log);
  if (!file) return std::nullopt;
  const LastLines last = last_lines_of_log(file, std::numeric_limits<std::size_t>::max(), bytes);
  Tail tail{.text = {}, .is_all = last.is_all};
  for (const std::string& line : last.lines) tail.text += line + '\n';
  return tail;
}

std::string data_text(std::string_view bytes, std::size_t limit) {
  return bytes.size() <= limit ? page_text(bytes) : truncate(page_text(bytes), limit);
}

PageBlock block_of(std::string name, const std::function<void(JsonWriter&)>& write) {
  DeflatedText deflated(kQuickly);
  {
    TextOutput output([&deflated](std::string_view piece) { deflated.add(piece); });
    JsonWriter json(output);
    write(json);
  }
  return {std::move(name), base64(deflated.finish())};
}

std::size_t PageData::bytes() const {
  constexpr std::size_t kAround = 80;  // the element around a block
  std::size_t sum = 0;
  for (const PageBlock& block : blocks) sum += block.base64.size() + kAround;
  return sum;
}

PageData page_data(const PageRequest& request, const std::vector<PageCase>& cases, std::size_t budget) {
  PageData data;
  const std::vector<std::uint32_t> order = odd_first(cases);
  const auto odd = static_cast<std::size_t>(std::ranges::count(cases, true, &PageCase::odd));

  // The list may use half of the budget.
  for (std::size_t most = cases.size();; most /= 2) {
    std::vector<std::int64_t> details(cases.size(), kNotListed);
    for (std::size_t place = 0; place < most; ++place)
      details[order[place]] = place < odd ? static_cast<std::int64_t>(place) + 1 : 0;
    data.blocks = list_blocks(request, cases, details);
    data.cases_left_out = cases.size() - most;
    if (data.bytes() <= budget / 2 || most == 0) break;
  }

  Logs logs(request, budget / 8);
  for (const std::uint32_t i : in_turn(request, cases)) logs.add(cases[i]);
  logs.blocks().append_to(data.blocks);
  data.logs_left_out = logs.left_out();

  const std::size_t taken = data.bytes() + kIndexBytes + 2 * kBlockBytes;
  Blocks blocks("details", budget > taken ? budget - taken : 0);
  for (std::size_t place = 0; place < odd && blocks.has_room(); ++place)
    blocks.add([&](JsonWriter& json) { Details(request, logs, cases[order[place]]).write(json); });
  blocks.append_to(data.blocks);
  data.details_left_out = odd - blocks.count();

  data.blocks.push_back(block_of("index", [&](JsonWriter& json) {
    json.open_object().member("details", blocks.count());
    write_items(json, "detailsFirst", blocks.firsts());
    write_items(json, "logsFirst", logs.blocks().firsts());
    json.close();
  }));
  return data;
}

}  // namespace proctor
