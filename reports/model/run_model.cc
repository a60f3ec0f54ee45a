#include "reports/model/run_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <set>

#include "harness/core/regular_file.h"
#include "harness/core/text.h"

namespace proctor {
namespace {

const Verdict kInterrupted{Outcome::kNotrun, Reason::kInterrupted};
const Verdict kDeviceUnhealthy{Outcome::kNotrun, Reason::kDeviceUnhealthy};
const Verdict kWarned{Outcome::kFail, Reason::kWarn};

// An assignment would keep the memory.
void release(std::string& text) { std::string().swap(text); }

bool same_attempt(const AttemptStarted& start, int attempt, int repeat) {
  return start.attempt == attempt && start.repeat == repeat;
}

// Compares the newest attempt with those of its repeat, back to the first one.
void confirm_alone(std::vector<Attempt>& attempts) {
  Attempt& newest = attempts.back();
  bool is_first = newest.start.attempt == 1;
  for (auto before = attempts.rbegin() + 1; !is_first && before != attempts.rend(); ++before) {
    if (before->start.repeat != newest.start.repeat) continue;
    if (before->start.shared != newest.start.shared)
      (newest.start.shared ? newest : *before).confirmed_alone = true;
    is_first = before->start.attempt == 1;
  }
}

// The attempts of a case that has no end record (table in run_model.h).
const Verdict& verdict_of_attempts(const CaseRecord& record) {
  std::vector<const Attempt*> attempts;
  for (const Attempt& attempt : record.attempts) {
    if (counts(attempt)) attempts.push_back(&attempt);
  }
  if (attempts.empty()) return kDeviceUnhealthy;
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) {
    const bool last_of_repeat = attempts[i]->start.repeat != attempts[i + 1]->start.repeat;
    const Verdict& verdict = verdict_of(*attempts[i]);
    if (last_of_repeat && is_bad(verdict.outcome)) return verdict;
  }
  const Attempt& last = *attempts.back();
  const Verdict& verdict = verdict_of(last);
  if (!last.end || is_bad(verdict.outcome)) return verdict;
  return last.start.repeat < record.planned.repeat ? kInterrupted : verdict;
}

// As of harness/run/schedule/group_verdicts.cc, which repeats the attempt.
bool reports_failure(const AttemptEnded& end) {
  if (end.verdict.outcome == Outcome::kFail) return !end.failures.empty();
  const auto has_place = [](const Failure& failure) { return !failure.file.empty(); };
  return is_bad(end.verdict.outcome) && end.verdict.outcome != Outcome::kNotrun &&
         std::ranges::any_of(end.failures, has_place);
}

// A reported failure of an unproven attempt counts, unless it was a skip, which a stream reports in the same words. The end
// of the case shows whether it counted.
void count_reported_failures(CaseRecord& record, const CaseEnded& ended) {
  const bool was_bad = is_bad(ended.verdict.outcome) && ended.verdict.outcome != Outcome::kNotrun;
  if (!was_bad && !has_mark(ended.marks, Mark::kFlaky)) return;
  for (Attempt& attempt : record.attempts) {
    if (attempt.end && reports_failure(*attempt.end)) std::erase(attempt.end->marks, Mark::kUnproven);
  }
}

}  // namespace

const Verdict& verdict_of(const Attempt& attempt) {
  return attempt.end ? attempt.end->verdict : kInterrupted;
}

bool is_suspect(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kDeviceSuspect);
}

bool counts(const Attempt& attempt) {
  return !is_suspect(attempt) && !(attempt.end && has_mark(attempt.end->marks, Mark::kUnproven));
}

bool passed_after_retry(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kFlaky);
}

const Attempt* deciding_attempt(const CaseRecord& record, const Verdict& verdict) {
  const Attempt* last = nullptr;
  const Attempt* bad = nullptr;
  const Attempt* same = nullptr;
  for (const Attempt& attempt : record.attempts) {
    const Verdict& its = verdict_of(attempt);
    last = &attempt;
    if (is_bad(its.outcome)) bad = &attempt;
    if (its.outcome == verdict.outcome) same = &attempt;
  }
  if (same != nullptr) return same;
  return bad != nullptr ? bad : last;
}

std::int64_t duration_ms(const CaseRecord& record) {
  std::int64_t sum = 0;
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end) sum += std::max<std::int64_t>(attempt.end->duration_ms, 0);
  }
  return sum;
}

int Summary::planned() const { return std::accumulate(counts.begin(), counts.end(), 0); }

int Summary::executed() const { return planned() - (*this)[Outcome::kSkip] - (*this)[Outcome::kNotrun]; }

void RunModel::on(const Event& event) {
  std::visit([this](const auto& record) { add(record); }, event);
}

void RunModel::add(const RunPlanned& plan) {
  if (has_plan_) {
    warnings_.push_back({WarningCode::kJournalSecondPlan, "the journal holds a second plan; it is ignored"});
    return;
  }
  has_plan_ = true;
  plan_ = plan;
  cases_.reserve(plan_.cases.size());
  for (PlannedCase& planned : plan_.cases) cases_.push_back({std::move(planned), {}, {}});
  plan_.cases = {};
  index_cases();
}

void RunModel::index_cases() {
  by_id_.resize(cases_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  const auto id_at = [this](std::uint32_t at) -> std::string_view { return cases_[at].planned.id; };
  std::ranges::stable_sort(by_id_, {}, id_at);
  std::set<std::uint32_t> again;
  for (std::size_t i = 1; i < by_id_.size(); ++i) {
    if (id_at(by_id_[i]) == id_at(by_id_[i - 1])) again.insert(by_id_[i]);
  }
  if (again.empty()) return;
  std::vector<CaseRecord> once;
  for (std::uint32_t at = 0; at < cases_.size(); ++at) {
    if (!again.contains(at)) {
      once.push_back(std::move(cases_[at]));
      continue;
    }
    warnings_.push_back(
        {WarningCode::kDuplicateCase, fmt::format("case '{}' is planned twice", cases_[at].planned.id)});
  }
  cases_ = std::move(once);
  index_cases();
}

std::size_t RunModel::position_of(std::string_view case_id) const {
  const auto id_at = [this](std::uint32_t at) -> std::string_view { return cases_[at].planned.id; };
  const auto found = std::ranges::lower_bound(by_id_, case_id, {}, id_at);
  return found != by_id_.end() && id_at(*found) == case_id ? *found : cases_.size();
}

CaseRecord* RunModel::planned_case(const std::string& case_id) {
  const std::size_t at = position_of(case_id);
  if (at < cases_.size()) return &cases_[at];
  warnings_.push_back(
      {WarningCode::kUnplannedCase, fmt::format("a record about '{}', which is not planned", case_id)});
  return nullptr;
}

void RunModel::add(const AttemptStarted& start) {
  elapsed_ms_ = std::max(elapsed_ms_, start.at_ms);
  CaseRecord* record = planned_case(start.case_id);
  if (record == nullptr) return;
  Attempt& attempt = record->attempts.emplace_back(Attempt{.start = start});
  attempt.packed_environment = pack(start.environment, words_);
  attempt.start.environment = {};
  release(attempt.start.case_id);
  confirm_alone(record->attempts);
}

void RunModel::add(const AttemptEnded& end) {
  elapsed_ms_ = std::max(elapsed_ms_, end.at_ms);
  CaseRecord* record = planned_case(end.case_id);
  if (record == nullptr) return;
  const auto open = std::find_if(record->attempts.begin(), record->attempts.end(), [&end](const Attempt& a) {
    return !a.end && same_attempt(a.start, end.attempt, end.repeat);
  });
  Attempt* attempt = open != record->attempts.end() ? &*open : nullptr;
  if (attempt == nullptr) {  // its start was lost (a full disk), or it could not be started
    AttemptStarted start{{}, end.attempt, end.repeat, end.at_ms - end.duration_ms, {}, end.output.log, {}};
    attempt = &record->attempts.emplace_back(Attempt{.start = std::move(start)});
  }
  if (!end.evidence.core.file.empty()) {  // a run keeps one core of each case
    for (Attempt& earlier : record->attempts) {
      if (earlier.end) earlier.end->evidence.core = {};
    }
  }
  attempt->end = end;
  attempt->start.log = end.output.log;  // "" of one that has none after all
  add_marks(end.marks);
  attempt->packed_telemetry = pack(end.telemetry, words_);
  attempt->end->telemetry = {};
  release(attempt->end->case_id);
  release(attempt->end->output.log);
  output_.apply(*attempt->end);
}

void RunModel::forget_logs(const std::function<bool(const std::string& log)>& is_there) {
  for (CaseRecord& record : cases_) {
    for (Attempt& attempt : record.attempts) {
      if (!attempt.end && !is_there(attempt.start.log)) attempt.start.log.clear();
    }
  }
}

// Cleaned here, so that sizes are those that a journal on disk gives back.
void OutputLimit::apply(AttemptEnded& end) {
  std::string out;
  std::string err;
  if (proctor::is_bad(end.verdict.outcome)) {
    out = clean_text(end.output.stdout_tail);
    err = clean_text(end.output.stderr_tail);
    if (kept_ + out.size() + err.size() > kMost) out = err = {};
  }
  kept_ += out.size() + err.size();
  end.output.stdout_tail = std::move(out);
  end.output.stderr_tail = std::move(err);
}

void RunModel::add(const AttemptSuspected& suspected) {
  CaseRecord* record = planned_case(suspected.case_id);
  if (record == nullptr) return;
  for (Attempt& attempt : record->attempts) {
    const bool meant = same_attempt(attempt.start, suspected.attempt, suspected.repeat) && attempt.end;
    if (!meant || is_suspect(attempt)) continue;
    attempt.end->marks.emplace_back(Mark::kDeviceSuspect);
    marks_.emplace(Mark::kDeviceSuspect);
  }
}

void RunModel::add(const CaseEnded& end) {
  CaseRecord* record = planned_case(end.case_id);
  if (record == nullptr) return;
  count_reported_failures(*record, end);
  record->end = end;
  release(record->end->case_id);
  add_marks(end.marks);
}

void RunModel::add(const CasePast& past) {
  if (planned_case(past.case_id) != nullptr) pasts_[past.case_id] = past;
}

const CasePast* RunModel::past(const CaseRecord& record) const {
  const auto found = pasts_.find(record.planned.id);
  return found == pasts_.end() ? nullptr : &found->second;
}

void RunModel::add(const DeviceHealth& health) {
  elapsed_ms_ = std::max(elapsed_ms_, health.at_ms);
  if (health.what == HealthFact::kBaseline) {
    baseline_[health.device] = health.bytes;
    return;
  }
  health_.push_back(health);
}

void RunModel::add(const HardwareEvidence& evidence) {
  elapsed_ms_ = std::max(elapsed_ms_, evidence.at_ms);
  hardware_.push_back(evidence);
}

const KnownFailureEntry* RunModel::known_failure(const CaseRecord& record) const {
  if (!record.end || record.end->known_failure_at.empty() || !plan_.known_failures) return nullptr;
  const auto& entries = plan_.known_failures->entries;
  const auto found = std::ranges::find(entries, record.end->known_failure_at, &KnownFailureEntry::at);
  return found == entries.end() ? nullptr : &*found;
}

void RunModel::add(const ProgramRead& read) { programs_[read.program] = read; }

ProgramRead RunModel::program_read(const PlannedSuite& suite) const {
  if (suite.program.empty()) return {.program = {}, .sha256 = {}, .reason = suite.reason};
  const auto found = programs_.find(suite.program);
  if (found != programs_.end()) return found->second;
  return {.program = suite.program, .sha256 = {}, .reason = "the run ended before it was read"};
}

void RunModel::add(const Warning& warning) { warnings_.push_back(warning); }

void RunModel::add(const StopRequested& stop) {
  elapsed_ms_ = std::max(elapsed_ms_, stop.at_ms);
  if (!stop_) {
    stop_ = stop;
    not_run_.reason = reason_of_rest(stop.reason);
  }
  if (stop_signal_ == 0) stop_signal_ = stop.signal;
}

void RunModel::add(const RunEnded& ended) {
  elapsed_ms_ = std::max(elapsed_ms_, ended.at_ms);
  ended_ = ended;
}

const CaseRecord* RunModel::find(std::string_view case_id) const {
  const std::size_t at = position_of(case_id);
  return at < cases_.size() ? &cases_[at] : nullptr;
}

const Verdict& RunModel::recorded_verdict(const CaseRecord& record) const {
  if (record.end) return record.end->verdict;
  if (record.attempts.empty()) return not_run_;
  return verdict_of_attempts(record);
}

bool RunModel::warned_of(WarningCode code) const {
  return std::any_of(warnings_.begin(), warnings_.end(),
                     [&](const Warning& warning) { return warning.code == code; });
}

bool RunModel::warned_of_machine() const {
  return std::any_of(warnings_.begin(), warnings_.end(),
                     [](const Warning& warning) { return is_machine_warning(warning.code); });
}

std::vector<EnvironmentVariable> RunModel::environment(const Attempt& attempt) const {
  return unpack_environment(attempt.packed_environment, words_);
}

TelemetryInfo RunModel::telemetry(const Attempt& attempt) const {
  return unpack_telemetry(attempt.packed_telemetry, words_);
}

const Verdict& RunModel::verdict(const CaseRecord& record) const {
  const Verdict& verdict = recorded_verdict(record);
  const bool may_warn = verdict.outcome == Outcome::kPass || verdict.outcome == Outcome::kSkip;
  return plan_.strict && may_warn && has_mark(record, Mark::kWarn) ? kWarned : verdict;
}

bool RunModel::is_bad(const CaseRecord& record) const {
  return proctor::is_bad(verdict(record).outcome, record.planned.kind);
}

Marks RunModel::marks(const CaseRecord& record) const {
  Marks all = record.end ? record.end->marks : Marks();
  for (const Attempt& attempt : record.attempts) {
    if (attempt.end) all.insert(all.end(), attempt.end->marks.begin(), attempt.end->marks.end());
  }
  std::erase(all, Mark::kUnproven);  // only a mark of attempts
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool RunModel::has_mark(const CaseRecord& record, Mark mark) const {
  if (!marks_.contains(mark)) return false;
  return (record.end && proctor::has_mark(record.end->marks, mark)) ||
         std::ranges::any_of(record.attempts, [mark](const Attempt& attempt) {
           return attempt.end && proctor::has_mark(attempt.end->marks, mark);
         });
}

Summary RunModel::summary() const {
  Summary summary;
  for (const CaseRecord& record : cases_) ++summary[verdict(record).outcome];
  return summary;
}

bool RunModel::simulated() const {
  return plan_.sim.has_value() ||
         std::any_of(plan_.devices.begin(), plan_.devices.end(), [](const auto& d) { return d.simulated; });
}

bool RunModel::simulated(const CaseRecord& record) const {
  bool leased = false;
  for (const Attempt& attempt : record.attempts) {
    for (const PlannedDevice& device : plan_.devices) {
      const auto& ids = attempt.start.devices;
      if (std::find(ids.begin(), ids.end(), device.id) == ids.end()) continue;
      if (device.simulated) return true;
      leased = true;
    }
  }
  if (leased) return false;
  // It holds no device that would tell: whatever ran beside simulated devices is no evidence about hardware.
  return simulated();
}

std::string no_device_text(const RunPlanned& plan) {
  const std::string& backend = plan.no_device_for;
  if (backend.empty()) return {};
  const std::string& variable = plan.no_device_by;
  if (variable.empty()) {
    return "no " + backend +
           " device was found here; next: `proctor doctor`, or simulate devices with --sim " +
           (backend == "cuda" ? "cuda:4" : "xpu:2x2");
  }
  if (variable.starts_with("CTEST_"))
    return "CTest has given this test no " + backend + " device; next: the test's property RESOURCE_GROUPS";
  if (variable == "--devices")
    return "--devices names no " + backend + " device; next: name one, or leave it out";
  std::string mask;
  for (const auto& [name, value] : plan.stack) {
    if (name == backend + ".caller_mask") mask = clean_text(value);
  }
  return "the caller's " + variable + "='" + mask + "' leaves no " + backend +
         " device; next: unset it, or `proctor explain mask " + backend + " '" + mask + "'`";
}

namespace {

// What the digests of a journal's records say, line by line (harness/core/journal_chain.h).
class ChainCheck {
 public:
  void see(const std::string& line, bool cut_off, bool is_record) {
    ++number_;
    const bool fits = chain_.follow(cut_off ? line : line + '\n');
    if (cut_off && !is_record) return;  // its writer was killed
    has_sums_ = has_sums_ || (is_record && has_sum(line));
    if (fits) {
      remains_ = 0;
    } else if (is_record) {
      first_wrong_ = first_wrong_ == 0 ? number_ : first_wrong_;
    } else {  // a full disk: the next record that fits vouches for it
      remains_ = remains_ == 0 ? number_ : remains_;
    }
  }
  // The first line that does not fit; 0 when all do, or when none has a digest.
  int first_wrong() const {
    if (!has_sums_) return 0;
    return first_wrong_ != 0 ? first_wrong_ : remains_;
  }
  bool has_sums() const { return has_sums_; }

 private:
  JournalChain chain_;
  int number_ = 0;
  int first_wrong_ = 0;
  int remains_ = 0;
  bool has_sums_ = false;
};

Warning changed_journal(const std::string& why) {
  return {WarningCode::kJournalChanged, "the journal was changed after its runner wrote it: " + why +
                                            "; do not rely on the results of its cases"};
}

constexpr int kMostTornShown = 100;  // a million bad lines are no million warnings

}  // namespace

Result<RunModel> load_journal(const std::filesystem::path& path, const std::optional<JournalSeal>& seal) {
  auto opened = open_regular_stream(path.string(), kMostJournal);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  RunModel model;
  ChainCheck check;
  std::vector<Warning> torn;
  int torn_lines = 0;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const bool torn_at_end = file.eof();  // no newline follows
    auto event = parse_json_line(line);
    check.see(line, torn_at_end, event.ok());
    if (event) {
      if (*event) model.on(**event);
    } else if (event.error().kind == ErrorKind::kUsage && !model.has_plan()) {
      return Error::usage(
          fmt::format("read {}: line {}: failed to {}", path.string(), number, event.error().what),
          event.error().hint);
    } else if (!torn_at_end && ++torn_lines <= kMostTornShown) {
      torn.push_back({WarningCode::kJournalTorn,
                      fmt::format("journal line {} is ignored: failed to {}", number, event.error().what)});
    }
  }
  if (torn_lines > kMostTornShown)
    torn.push_back({WarningCode::kJournalTorn,
                    fmt::format("{} more lines of the journal are ignored", torn_lines - kMostTornShown)});
  if (file.bad()) return Error::system("read " + path.string(), errno);
  if (!model.has_plan()) {
    return Error{ErrorKind::kSystem, "read " + path.string() + ": it holds no plan",
                 "The run ended before its first case was planned, or this is not a journal.", 0};
  }
  for (const Warning& warning : torn) model.on(warning);
  const bool its_own = seal && seal->run_id == model.plan().run_id;
  if (const std::string why = its_own ? difference(path, *seal) : ""; !why.empty()) {
    model.on(changed_journal(why));
  } else if (const int number = check.first_wrong(); number != 0) {
    model.on(changed_journal(fmt::format("line {} does not fit those before it", number)));
  } else if (!check.has_sums()) {
    model.on(changed_journal("none of its records has a digest"));
  }
  return model;
}

}  // namespace proctor
