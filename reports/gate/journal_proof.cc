#include "reports/gate/journal_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>

#include "harness/base/regular_file.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

// With this variable Level Zero's loader loads another driver than that of the machine.
// Proctor itself sets it to hide cards.
bool report_another_driver(const EnvironmentVariable& variable) {
  return variable.name == "ZE_ENABLE_ALT_DRIVERS" && !variable.value.value_or("").empty() &&
         variable.by != "proctor";
}

// ---- Reading a journal ----

constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::int64_t kClockGrainMs = 1000;

// Reads a file line by line, with a limit on the length of a line.
class Lines {
 public:
  enum class Got { kWhole, kCut, kEnd, kTooLong, kUnreadable };

  explicit Lines(const fs::path& path) : file_(path, std::ios::binary), buffer_(std::size_t{1} << 18, '\0') {}

  bool is_open() const { return file_.is_open(); }

  // Reads a line without its newline. kCut: the last line has no newline.
  Got next(std::string& line) {
    line.clear();
    for (;;) {
      if (at_ == rest_.size() && !fill()) break;
      const auto end = rest_.find('\n', at_);
      line += rest_.substr(at_, std::min(end, rest_.size()) - at_);
      at_ = std::min(end, rest_.size());
      if (line.size() > kLongestLine) return Got::kTooLong;
      if (end == rest_.npos) continue;
      ++at_;
      return Got::kWhole;
    }
    if (file_.bad()) return Got::kUnreadable;
    return line.empty() ? Got::kEnd : Got::kCut;
  }

 private:
  bool fill() {
    file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    rest_ = std::string_view(buffer_).substr(0, static_cast<std::size_t>(file_.gcount()));
    at_ = 0;
    return !rest_.empty();
  }

  std::ifstream file_;
  std::string buffer_;
  std::string_view rest_;
  std::size_t at_ = 0;
};

struct ReadError {
  std::string place;

  Error at(int line, const std::string& why, const std::string& hint = {}) const {
    return Error::usage(
        fmt::format("read {}/journal.jsonl{}: {}", place, line > 0 ? fmt::format(":{}", line) : "", why),
        hint);
  }
};

// Returns the version of a record; 0 for other text. Every record begins with its version.
int version_of(std::string_view line) {
  constexpr std::string_view kStart = "{\"v\":";
  int version = 0;
  if (line.starts_with(kStart))
    std::from_chars(line.data() + kStart.size(), line.data() + line.size(), version);
  return version;
}

// Drops the details that no rule reads, which are most of a journal.
void drop_details(Event& event) {
  if (auto* start = std::get_if<AttemptStarted>(&event)) {
    if (other_driver_in(start->environment).empty()) start->environment = {};
    start->log = {};
  } else if (auto* end = std::get_if<AttemptEnded>(&event)) {
    end->output = {};
    end->telemetry = {};
    end->evidence = {};
    end->failures = {};
    end->measures = {};
    end->properties = {};
    end->diagnosis.reset();
    std::erase_if(end->ranks, [](const RankEnd& rank) { return other_driver_in(rank.environment).empty(); });
  }
}

// This warning may follow the end, because reports are written after the end.
bool is_report_lost(const Event& event) {
  const auto* warning = std::get_if<Warning>(&event);
  return warning != nullptr && warning->code == WarningCode::kReportNotWritten;
}

// Reads the records of one journal, and collects its flaws.
class StrictReader {
 public:
  StrictReader(ReadError error, bool whole) : error_(std::move(error)), whole_(whole) {}

  Result<void> take(std::string& line, Lines::Got got) {
    ++number_;
    if (got == Lines::Got::kUnreadable) return error_.at(number_, "it cannot be read to its end");
    if (got == Lines::Got::kTooLong) return error_.at(number_, "the record is longer than 256 MiB");
    if (const int version = version_of(line); version != 0 && version != kJournalVersion) {
      return error_.at(number_,
                       fmt::format("its journal has version {}, and this Proctor reads version {}", version,
                                   kJournalVersion),
                       "Use a Proctor of the version that ran it.");
    }
    if (got == Lines::Got::kCut)
      return error_.at(number_, "it ends within a record: it was cut, or its runner killed");
    auto event = parse_json_line(line);
    if (!event) return error_.at(number_, event.error().what);
    const bool has_digest = has_sum(line);
    line += '\n';
    const bool fits = chain_.follow(line);
    if (!has_digest) flaw("the record has no digest of what is before it");
    if (has_digest && !fits) flaw("the record does not fit those before it");
    if (*event) return take(**event);
    if (auto rendered = rendered_in(line)) take(*std::move(rendered));
    return {};
  }

  Result<GateReport> finish() {
    if (number_ == 0) return error_.at(0, "it is empty");
    if (!recorded().has_plan) return error_.at(0, "it holds no plan");
    report_.run = resolver_.take();
    for (const Warning& warning : report_.run.warnings) {
      if (warning.code == WarningCode::kDuplicateCase || warning.code == WarningCode::kUnplannedCase)
        report_.flaws.push_back({0, warning.text, ""});
    }
    for (const ResolvedCase& test : report_.run.cases) note_bad(test);
    for (const ResolvedCase& test : report_.run.cases) check(test);
    report_.place = error_.place;
    report_.sha256 = chain_.state().digest;
    return std::move(report_);
  }

 private:
  const ResolvedRun& recorded() const { return resolver_.recorded(); }

  Result<void> take(Event& event) {
    if (std::holds_alternative<RunPlanned>(event) && recorded().has_plan)
      return error_.at(number_, "it holds a second plan");
    if (!std::holds_alternative<RunPlanned>(event) && !recorded().has_plan)
      return error_.at(number_, "a record precedes the plan");
    if (recorded().ended && !is_report_lost(event)) flaw("a record follows the end of the run");
    if (const auto* plan = std::get_if<RunPlanned>(&event);
        plan && plan->shard && !is_shard_number(*plan->shard))
      flaw(fmt::format("shard {}/{} is not a valid shard number", plan->shard->index, plan->shard->count));
    if (const auto* end = std::get_if<CaseEnded>(&event)) {
      const ResolvedCase* test = recorded().find(end->case_id);
      if (test != nullptr && test->end) flaw("the case ended twice", end->case_id);
    }
    check_moment(event);
    if (const auto* end = std::get_if<AttemptEnded>(&event)) check_failures(*end);
    if (!whole_) drop_details(event);
    resolver_.on(event);
    return {};
  }

  // If reports were rendered before the end or twice, the digests that apply are unknown.
  void take(RenderedFiles rendered) {
    if (!recorded().ended) return flaw("it lists rendered files before the end of the run");
    if (!report_.rendered.empty()) return flaw("it lists the rendered files twice");
    report_.rendered = std::move(rendered);
  }

  // Reports only the first of equal flaws, because after a wrong digest all following digests are wrong, too.
  void flaw(const std::string& what, const std::string& case_id = {}) {
    if (said_.insert(what + case_id).second) report_.flaws.push_back({number_, what, case_id});
  }

  // Checks the times of the run's own clock, which begins at 0.
  void check_moment(const Event& event) {
    const std::int64_t moment = std::visit(
        [](const auto& its) -> std::int64_t {
          if constexpr (requires { its.at_ms; }) return its.at_ms;
          return 0;
        },
        event);
    if (moment < 0) flaw("the record is older than the run");
  }

  // In the child protocol a case with a failure cannot pass. Other frameworks may forgive a failure.
  void check_failures(const AttemptEnded& end) {
    const ResolvedCase* test = recorded().find(end.case_id);
    if (test == nullptr || test->planned.kind != "proctor" || !end.ranks.empty()) return;
    if (end.verdict.outcome == Outcome::kPass && !end.failures.empty() && !has_mark(end.marks, Mark::kFlaky))
      flaw("an attempt passed, but it reports a failure", end.case_id);
  }

  // If several cases share a process, a failed case explains the exit code of the process.
  void check_exit(const ResolvedCase& test, const AttemptEnded& end) {
    if (end.verdict.outcome != Outcome::kPass) return;
    if (end.exit_signal && end.termination.signal_sent == 0)
      contradiction(test, fmt::format("its attempt {} passed, but it was killed by signal {}", end.attempt,
                                      *end.exit_signal));
    if (end.exit_code.value_or(0) != 0 && !bad_suites_.contains({test.planned.suite, test.planned.backend}))
      contradiction(test, fmt::format("its attempt {} passed, but it exited with code {}", end.attempt,
                                      *end.exit_code));
  }

  void note_bad(const ResolvedCase& test) {
    const bool bad = std::ranges::any_of(test.attempts, [](const Attempt& attempt) {
      return attempt.end && is_bad(attempt.end->verdict.outcome);
    });
    if (bad) bad_suites_.insert({test.planned.suite, test.planned.backend});
  }

  void check(const ResolvedCase& test, const Attempt& attempt) {
    for (const std::string& id : attempt.start.devices) {
      if (std::ranges::find(report_.run.plan.devices, id, &PlannedDevice::id) ==
          report_.run.plan.devices.end())
        contradiction(test, fmt::format("it ran on {}, which is not a device of the run", id));
    }
    if (!attempt.end) return;
    check_exit(test, *attempt.end);
    const std::int64_t lasted = attempt.end->duration_ms;
    if (lasted < 0 || lasted > report_.run.elapsed_ms + kClockGrainMs)
      contradiction(test, fmt::format("its attempt {} lasted {} ms, and the run {} ms", attempt.start.attempt,
                                      lasted, report_.run.elapsed_ms));
  }

  // Checks that the verdict of a case is the result of one of its attempts.
  void check(const ResolvedCase& test) {
    std::set<std::pair<int, int>> seen;
    for (const Attempt& attempt : test.attempts) {
      check(test, attempt);
      if (!seen.insert({attempt.start.repeat, attempt.start.attempt}).second)
        contradiction(test, fmt::format("its attempt {} is recorded twice", attempt.start.attempt));
    }
    if (!test.end) return;
    const Outcome outcome = test.end->verdict.outcome;
    const bool good = outcome == Outcome::kPass || outcome == Outcome::kXpass;
    const bool expected = outcome == Outcome::kXfail;
    const bool skipped = outcome == Outcome::kSkip && !test.attempts.empty();
    if (!good && !expected && !skipped) return;
    const bool did = std::ranges::any_of(test.attempts, [&](const Attempt& attempt) {
      const Outcome its = verdict_of(attempt).outcome;
      return attempt.end && (its == outcome || (good ? its == Outcome::kPass : expected && is_bad(its)));
    });
    if (!did) contradiction(test, fmt::format("it ended as {}, but no attempt did", to_string(outcome)));
  }

  void contradiction(const ResolvedCase& test, const std::string& what) {
    report_.flaws.push_back({0, what, test.planned.id});
  }

  ReadError error_;
  bool whole_;
  RunResolver resolver_;
  GateReport report_{};
  JournalChain chain_;
  std::set<std::string> said_;
  std::set<std::pair<std::string, std::string>> bad_suites_;  // suites with a bad attempt of some case
  int number_ = 0;
};

}  // namespace

std::string GateReport::name() const {
  if (!run.plan.shard) return "run " + run.plan.run_id;
  return fmt::format("shard {}/{} of run {}", run.plan.shard->index, run.plan.shard->count, run.plan.run_id);
}

std::string other_driver_in(const std::vector<EnvironmentVariable>& environment) {
  const auto reported = std::ranges::find_if(environment, report_another_driver);
  return reported != environment.end() ? fmt::format("{}, by the {}", *reported->value, reported->by) : "";
}

Result<GateReport> read_strictly(const fs::path& journal, const std::string& place,
                                 const std::optional<JournalSeal>& seal, bool whole) {
  const ReadError error{place};
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(journal, ignored);
  if (status.type() == fs::file_type::symlink)
    return error.at(0, "it is a link", "Give the run directory itself.");
  if (status.type() != fs::file_type::regular) return error.at(0, "it is not a regular file");
  if (fs::file_size(journal, ignored) > kMostJournal) return error.at(0, "it is longer than 2 GB");
  errno = 0;
  Lines lines(journal);
  if (!lines.is_open()) return error.at(0, "failed to " + Error::system("open it", errno).what);
  StrictReader reader(error, whole);
  std::string line;
  for (Lines::Got got = lines.next(line); got != Lines::Got::kEnd; got = lines.next(line)) {
    if (auto taken = reader.take(line, got); !taken) return taken.error();
  }
  auto read = reader.finish();
  if (!read || !seal) return read;
  if (seal->run_id != read->run.plan.run_id) {
    return error.at(0,
                    fmt::format("it belongs to run {}, but the last run in this directory was {}",
                                read->run.plan.run_id, seal->run_id),
                    "Copy a run from another machine to a directory of its own.");
  }
  const std::string different = difference(journal.string(), *seal);
  if (different.empty()) return read;
  return error.at(0, "it was changed after its runner wrote it: " + different);
}

Result<GateReport> read_gate_report(const fs::path& run_dir, const std::string& place,
                                    const std::optional<JournalSeal>& seal) {
  const fs::path journal = run_dir / "journal.jsonl";
  auto report = read_strictly(journal, place, seal, /*whole=*/false);
  if (!report) return report;
  report->other_files = files_changed_since(report->rendered, run_dir);
  if (report->other_files.empty()) return report;
  // Other reports are rendered again, which requires the complete journal.
  const auto whole = read_strictly(journal, place, seal, /*whole=*/true);
  if (!whole) return whole.error();
  if (whole->sha256 != report->sha256) return ReadError{place}.at(0, "it changed while it was read");
  report->other_files = files_not_rendered_so(whole->run, run_dir, report->other_files);
  return report;
}

}  // namespace proctor
