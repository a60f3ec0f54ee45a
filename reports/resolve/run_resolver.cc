#include "reports/resolve/run_resolver.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <set>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

// An assignment would keep the memory.
void release(std::string& text) { std::string().swap(text); }

bool same_attempt(const AttemptStarted& start, int attempt, int repeat) {
  return start.attempt == attempt && start.repeat == repeat;
}

// Compares the newest attempt with the earlier attempts of its repeat.
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

}  // namespace

void RunResolver::on(const Event& event) {
  is_resolved_ = false;
  std::visit([this](const auto& record) { add(record); }, event);
}

const ResolvedRun& RunResolver::resolve() {
  if (std::exchange(is_resolved_, true)) return run_;
  resolve_cases(run_);
  resolve_causes(run_);
  resolve_devices(run_);
  resolve_exit_code(run_);
  resolve_device_verdict(run_);
  resolve_problems(run_);
  resolve_failure_rates(run_);
  return run_;
}

ResolvedRun RunResolver::take() {
  resolve();
  return std::move(run_);
}

void RunResolver::add(const RunPlanned& plan) {
  if (run_.has_plan) {
    run_.warnings.push_back(
        {WarningCode::kJournalDuplicatePlan, "the journal holds a second plan; it is ignored"});
    return;
  }
  run_.has_plan = true;
  run_.plan = plan;
  run_.cases.reserve(run_.plan.cases.size());
  for (PlannedCase& planned : run_.plan.cases) run_.cases.push_back({.planned = std::move(planned)});
  run_.plan.cases = {};
  run_.common->devices = run_.plan.devices;
  run_.common->stack = run_.plan.stack;
  index_cases();
}

void RunResolver::index_cases() {
  run_.by_id.resize(run_.cases.size());
  std::iota(run_.by_id.begin(), run_.by_id.end(), 0U);
  for (std::uint32_t at = 0; at < run_.cases.size(); ++at) run_.cases[at].index = at;
  const auto id_at = [this](std::uint32_t at) -> std::string_view { return run_.cases[at].planned.id; };
  std::ranges::stable_sort(run_.by_id, {}, id_at);
  std::set<std::uint32_t> again;
  for (std::size_t i = 1; i < run_.by_id.size(); ++i) {
    if (id_at(run_.by_id[i]) == id_at(run_.by_id[i - 1])) again.insert(run_.by_id[i]);
  }
  if (again.empty()) return;
  std::vector<ResolvedCase> once;
  for (std::uint32_t at = 0; at < run_.cases.size(); ++at) {
    if (!again.contains(at)) {
      once.push_back(std::move(run_.cases[at]));
      continue;
    }
    run_.warnings.push_back(
        {WarningCode::kDuplicateCase, fmt::format("case '{}' is planned twice", run_.cases[at].planned.id)});
  }
  run_.cases = std::move(once);
  index_cases();
}

ResolvedCase* RunResolver::planned_case(const std::string& case_id) {
  if (const ResolvedCase* test = run_.find(case_id)) return &run_.cases[test->index];
  run_.warnings.push_back(
      {WarningCode::kUnplannedCase, fmt::format("a record about '{}', which is not planned", case_id)});
  return nullptr;
}

void RunResolver::add(const AttemptStarted& start) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, start.at_ms);
  ResolvedCase* test = planned_case(start.case_id);
  if (test == nullptr) return;
  Attempt& attempt = test->attempts.emplace_back(Attempt{.common = run_.common.get(), .start = start});
  attempt.packed_environment = pack(start.environment, run_.common->words);
  attempt.start.environment = {};
  release(attempt.start.case_id);
  confirm_alone(test->attempts);
}

void RunResolver::add(const AttemptEnded& end) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, end.at_ms);
  ResolvedCase* test = planned_case(end.case_id);
  if (test == nullptr) return;
  const auto open = std::find_if(test->attempts.begin(), test->attempts.end(), [&end](const Attempt& a) {
    return !a.end && same_attempt(a.start, end.attempt, end.repeat);
  });
  Attempt* attempt = open != test->attempts.end() ? &*open : nullptr;
  if (attempt == nullptr) {  // its start record was lost (a full disk), or it could not be started
    AttemptStarted start{{}, end.attempt, end.repeat, end.at_ms - end.duration_ms, {}, end.output.log, {}};
    attempt = &test->attempts.emplace_back(Attempt{.common = run_.common.get(), .start = std::move(start)});
  }
  if (!end.evidence.core.file.empty()) {  // a run keeps one core for each case
    for (Attempt& earlier : test->attempts) {
      if (earlier.end) earlier.end->evidence.core = {};
    }
  }
  attempt->end = end;
  attempt->start.log = end.output.log;  // "" if it has no log after all
  attempt->packed_telemetry = pack(end.telemetry, run_.common->words);
  attempt->end->telemetry = {};
  release(attempt->end->case_id);
  release(attempt->end->output.log);
  output_.apply(*attempt->end);
}

void forget_logs(ResolvedRun& run, const std::function<bool(const std::string& log)>& is_there) {
  for (ResolvedCase& test : run.cases) {
    for (Attempt& attempt : test.attempts) {
      if (!attempt.end && !is_there(attempt.start.log)) attempt.start.log.clear();
    }
  }
}

// The output is cleaned here, so that sizes equal those of a journal on disk.
void OutputLimit::apply(AttemptEnded& end) {
  std::string out;
  std::string err;
  if (is_bad(end.verdict.outcome)) {
    out = clean_text(end.output.stdout_tail);
    err = clean_text(end.output.stderr_tail);
    if (kept_ + out.size() + err.size() > kMost) out = err = {};
  }
  kept_ += out.size() + err.size();
  end.output.stdout_tail = std::move(out);
  end.output.stderr_tail = std::move(err);
}

void RunResolver::add(const AttemptSuspected& suspected) {
  ResolvedCase* test = planned_case(suspected.case_id);
  if (test == nullptr) return;
  for (Attempt& attempt : test->attempts) {
    const bool meant = same_attempt(attempt.start, suspected.attempt, suspected.repeat) && attempt.end;
    if (!meant || is_suspect(attempt)) continue;
    attempt.end->marks.emplace_back(Mark::kDeviceSuspect);
  }
}

void RunResolver::add(const CaseEnded& end) {
  ResolvedCase* test = planned_case(end.case_id);
  if (test == nullptr) return;
  test->end = end;
  release(test->end->case_id);
}

void RunResolver::add(const CasePast& past) {
  if (planned_case(past.case_id) != nullptr) run_.pasts[past.case_id] = past;
}

void RunResolver::add(const DeviceHealth& health) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, health.at_ms);
  if (health.what == HealthFact::kBaseline) {
    run_.device_baseline[health.device] = health.bytes;
    return;
  }
  run_.health.push_back(health);
}

void RunResolver::add(const HardwareEvidence& evidence) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, evidence.at_ms);
  run_.hardware.push_back(evidence);
}

void RunResolver::add(const ProgramRead& read) { run_.programs[read.program] = read; }

void RunResolver::add(const Warning& warning) { run_.warnings.push_back(warning); }

void RunResolver::add(const StopRequested& stop) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, stop.at_ms);
  if (!run_.stop) run_.stop = stop;
  if (run_.stop_signal == 0) run_.stop_signal = stop.signal;
}

void RunResolver::add(const RunEnded& ended) {
  run_.elapsed_ms = std::max(run_.elapsed_ms, ended.at_ms);
  run_.ended = ended;
}

namespace {

// Checks the digests in a journal's records, line by line (harness/journal/journal_chain.h).
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
    } else {  // A full disk is possible: a later record with a correct digest confirms this line
      remains_ = remains_ == 0 ? number_ : remains_;
    }
  }
  // Returns the number of the first line with a wrong digest; 0 if all are correct, or if no record has a digest.
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

constexpr int kMostTornShown = 100;  // the number of warnings is limited, however many lines are bad

}  // namespace

Result<ResolvedRun> load_journal(const std::filesystem::path& path, const std::optional<JournalSeal>& seal) {
  auto opened = open_regular_stream(path.string(), kMostJournal);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  RunResolver resolver;
  ChainCheck check;
  std::vector<Warning> torn;
  int torn_lines = 0;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const bool torn_at_end = file.eof();  // no newline follows
    auto event = parse_json_line(line);
    check.see(line, torn_at_end, event.ok());
    if (event) {
      if (*event) resolver.on(**event);
    } else if (event.error().kind == ErrorKind::kUsage && !resolver.recorded().has_plan) {
      return Error::usage(
          fmt::format("read {}: line {}: failed to {}", path.string(), number, event.error().what),
          event.error().hint);
    } else if (!torn_at_end && ++torn_lines <= kMostTornShown) {
      torn.push_back({WarningCode::kJournalTruncated,
                      fmt::format("journal line {} is ignored: failed to {}", number, event.error().what)});
    }
  }
  if (torn_lines > kMostTornShown)
    torn.push_back(
        {WarningCode::kJournalTruncated,
         fmt::format("{} of the journal {} ignored", count_text(torn_lines - kMostTornShown, "more line"),
                     plural(torn_lines - kMostTornShown, "is", "are"))});
  if (file.bad()) return Error::system("read " + path.string(), errno);
  if (!resolver.recorded().has_plan) {
    return Error{ErrorKind::kSystem, "read " + path.string() + ": it holds no plan",
                 "The run ended before its first case was planned, or this is not a journal.", 0};
  }
  for (const Warning& warning : torn) resolver.on(warning);
  const bool its_own = seal && seal->run_id == resolver.recorded().plan.run_id;
  if (const std::string why = its_own ? difference(path, *seal) : ""; !why.empty()) {
    resolver.on(changed_journal(why));
  } else if (const int number = check.first_wrong(); number != 0) {
    resolver.on(changed_journal(fmt::format("line {} does not fit those before it", number)));
  } else if (!check.has_sums()) {
    resolver.on(changed_journal("none of its records has a digest"));
  }
  return resolver.take();
}

}  // namespace proctor
