#include "reports/gate/gate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>

#include "harness/core/regular_file.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/report_place.h"
#include "reports/resolve/run_resolver.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

// ---- what is kept of a model ----

bool was_executed(const Verdict& verdict) {
  return verdict.outcome != Outcome::kSkip && verdict.outcome != Outcome::kNotrun;
}

// Bad in one attempt, and not in the end, whatever its marks say.
bool recovered(const ResolvedCase& record, const Verdict& verdict) {
  return (verdict.outcome == Outcome::kPass || verdict.outcome == Outcome::kSkip) &&
         std::ranges::any_of(record.attempts, [](const Attempt& attempt) {
           return attempt.end && is_bad(attempt.end->verdict.outcome) && counts(attempt);
         });
}

// By this variable Level Zero's loader takes another driver than that of the machine. Proctor itself sets it to hide cards.
bool tells_another_driver(const EnvironmentVariable& variable) {
  return variable.name == "ZE_ENABLE_ALT_DRIVERS" && !variable.value.value_or("").empty() &&
         variable.by != "proctor";
}

std::string driver_told_in(const std::vector<EnvironmentVariable>& environment) {
  const auto told = std::ranges::find_if(environment, tells_another_driver);
  return told != environment.end() ? fmt::format("{}, by the {}", *told->value, told->by) : "";
}

class Keeper {
 public:
  Keeper(const ResolvedRun& model, GateReport& report) : model_(model), report_(report) {}

  void add(const ResolvedCase& record) {
    GateEnd end;
    end.verdict = record.verdict;
    end.colour = meaning_of(end.verdict, record.planned.kind).gate;
    const Marks marks = record.marks;
    end.suspect = has_mark(marks, Mark::kDeviceSuspect);
    end.flaky = !end.suspect && (has_mark(marks, Mark::kFlaky) || recovered(record, end.verdict));
    end.telling = telling(record, end);
    end.unkillable = std::ranges::any_of(record.attempts, [](const Attempt& attempt) {
      return attempt.end && attempt.end->termination.unreapable;
    });
    const std::uint32_t index = group_of(record.planned);
    GateGroup& group = report_.groups[index];
    group.simulated = group.simulated || record.simulated;
    if (was_executed(end.verdict)) add_devices(record, group);
    for (const Attempt& attempt : record.attempts) note_driver(attempt, group);
    report_.cases.add(record.planned.id, index, std::move(end));
  }

 private:
  std::uint32_t group_of(const PlannedCase& planned) {
    const auto [found, is_new] = index_.try_emplace({planned.suite, planned.backend},
                                                    static_cast<std::uint32_t>(report_.groups.size()));
    if (is_new) {
      GateGroup& group = report_.groups.emplace_back();
      group.suite = planned.suite;
      group.backend = planned.backend;
    }
    return found->second;
  }

  static std::vector<GateAttempt> telling(const ResolvedCase& record, const GateEnd& end) {
    std::vector<GateAttempt> all;
    if (end.flaky) {
      for (const Attempt& attempt : record.attempts) {
        const Verdict verdict =
            passed_after_retry(attempt) ? Verdict{Outcome::kFail, {}} : verdict_of(attempt);
        if (is_bad(verdict.outcome) && counts(attempt)) all.push_back({verdict, attempt.start.devices});
      }
    } else if (const Attempt* attempt = record.deciding) {
      all.push_back({verdict_of(*attempt), attempt->start.devices});
    }
    return all;
  }

  void note_driver(const Attempt& attempt, GateGroup& group) const {
    if (group.other_driver.empty()) group.other_driver = driver_told_in(model_.environment(attempt));
    if (!attempt.end) return;
    for (const RankEnd& rank : attempt.end->ranks) {
      if (group.other_driver.empty()) group.other_driver = driver_told_in(rank.environment);
    }
  }

  void add_devices(const ResolvedCase& record, GateGroup& group) const {
    for (const Attempt& attempt : record.attempts) {
      if (!attempt.end || !was_executed(attempt.end->verdict)) continue;
      for (const std::string& device : attempt.start.devices) {
        DeviceUse& use = group.devices[device];
        ++use.executed;
        use.busy.push_back(span_of(attempt));
      }
    }
  }

  // Within the run.
  GateSpan span_of(const Attempt& attempt) const {
    const std::int64_t end = std::max<std::int64_t>(model_.elapsed_ms, 0);
    const std::int64_t begin = std::clamp<std::int64_t>(attempt.start.at_ms, 0, end);
    return {begin, begin + std::clamp<std::int64_t>(attempt.end->duration_ms, 0, end - begin)};
  }

  const ResolvedRun& model_;
  GateReport& report_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> index_;
};

std::string why_cut_short(const ResolvedRun& model) {
  if (!model.ended) return "its journal has no end: the runner was killed";
  if (model.stop_signal != 0) return fmt::format("signal {} asked it to stop", model.stop_signal);
  if (model.stop) return fmt::format("it was stopped: {}", model.stop->reason.text());
  if (model.warned_of(WarningCode::kPartRefused)) return "one of its parts was refused";
  if (model.warned_of(WarningCode::kPartIncomplete)) return "one of its parts was cut short";
  return "";
}

// ---- how a journal is read ----

constexpr std::size_t kLongestLine = std::size_t{256} << 20;
constexpr std::int64_t kClockGrainMs = 1000;

// Lines of a file, of which none fills the memory.
class Lines {
 public:
  enum class Got { kWhole, kCut, kEnd, kTooLong, kUnreadable };

  explicit Lines(const fs::path& path) : file_(path, std::ios::binary), buffer_(std::size_t{1} << 18, '\0') {}

  bool is_open() const { return file_.is_open(); }

  // Without its newline; kCut: it has none.
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

// Records of ours begin with it.
int version_of(std::string_view line) {
  constexpr std::string_view kStart = "{\"v\":";
  int version = 0;
  if (line.starts_with(kStart))
    std::from_chars(line.data() + kStart.size(), line.data() + line.size(), version);
  return version;
}

// What no rule asks. It is most of a journal.
void drop_details(Event& event) {
  if (auto* start = std::get_if<AttemptStarted>(&event)) {
    if (driver_told_in(start->environment).empty()) start->environment = {};
    start->log = {};
  } else if (auto* end = std::get_if<AttemptEnded>(&event)) {
    end->output = {};
    end->telemetry = {};
    end->evidence = {};
    end->failures = {};
    end->measures = {};
    end->properties = {};
    end->diagnosis.reset();
    std::erase_if(end->ranks, [](const RankEnd& rank) { return driver_told_in(rank.environment).empty(); });
  }
}

// The reports are written after the end.
bool is_report_lost(const Event& event) {
  const auto* warning = std::get_if<Warning>(&event);
  return warning != nullptr && warning->code == WarningCode::kReportLost;
}

class StrictReader {
 public:
  StrictReader(ReadError error, bool whole) : error_(std::move(error)), whole_(whole) {}

  Result<void> take(std::string& line, Lines::Got got) {
    ++number_;
    if (got == Lines::Got::kUnreadable) return error_.at(number_, "it cannot be read to its end");
    if (got == Lines::Got::kTooLong) return error_.at(number_, "the record is longer than 256 MiB");
    if (const int version = version_of(line); version > kJournalVersion) {
      return error_.at(
          number_,
          fmt::format("it is of version {}, and this Proctor reads version {}", version, kJournalVersion),
          "Take the Proctor that ran it, or a newer one.");
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

  Result<StrictJournal> finish() {
    if (number_ == 0) return error_.at(0, "it is empty");
    if (!recorded().has_plan) return error_.at(0, "it holds no plan");
    journal_.run = resolver_.take();
    for (const Warning& warning : journal_.run.warnings) {
      if (warning.code == WarningCode::kDuplicateCase || warning.code == WarningCode::kUnplannedCase)
        journal_.flaws.push_back({0, warning.text, ""});
    }
    for (const ResolvedCase& test : journal_.run.cases) note_bad(test);
    for (const ResolvedCase& test : journal_.run.cases) check(test);
    journal_.sha256 = chain_.state().digest;
    return std::move(journal_);
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
      const ResolvedCase* record = recorded().find(end->case_id);
      if (record != nullptr && record->end) flaw("the case ended twice", end->case_id);
    }
    check_moment(event);
    if (const auto* end = std::get_if<AttemptEnded>(&event)) check_failures(*end);
    if (!whole_) drop_details(event);
    resolver_.on(event);
    return {};
  }

  // Of reports that were rendered before the end, or twice, nobody knows which are there.
  void take(RenderedFiles rendered) {
    if (!recorded().ended) return flaw("it lists rendered files before the end of the run");
    if (!journal_.rendered.empty()) return flaw("it lists the rendered files twice");
    journal_.rendered = std::move(rendered);
  }

  // One sentence for the first of many: after a wrong digest each that follows is wrong as well.
  void flaw(const std::string& what, const std::string& case_id = {}) {
    if (said_.insert(what + case_id).second) journal_.flaws.push_back({number_, what, case_id});
  }

  // A run has a clock of its own, which begins at 0.
  void check_moment(const Event& event) {
    const std::int64_t moment = std::visit(
        [](const auto& its) -> std::int64_t {
          if constexpr (requires { its.at_ms; }) return its.at_ms;
          return 0;
        },
        event);
    if (moment < 0) flaw("the record is older than the run");
  }

  // Of our own protocol, in which a case with a failure has not passed. A framework may forgive one.
  void check_failures(const AttemptEnded& end) {
    const ResolvedCase* record = recorded().find(end.case_id);
    if (record == nullptr || record->planned.kind != "proctor" || !end.ranks.empty()) return;
    if (end.verdict.outcome == Outcome::kPass && !end.failures.empty() && !has_mark(end.marks, Mark::kFlaky))
      flaw("an attempt passed, but it reports a failure", end.case_id);
  }

  // Where several cases share a process, one that failed explains how it ended.
  void check_exit(const ResolvedCase& record, const AttemptEnded& end) {
    if (end.verdict.outcome != Outcome::kPass) return;
    if (end.exit_signal && end.termination.signal_sent == 0)
      contradiction(record, fmt::format("its attempt {} passed, but it was killed by signal {}", end.attempt,
                                        *end.exit_signal));
    if (end.exit_code.value_or(0) != 0 &&
        !bad_suites_.contains({record.planned.suite, record.planned.backend}))
      contradiction(record, fmt::format("its attempt {} passed, but it exited with code {}", end.attempt,
                                        *end.exit_code));
  }

  void note_bad(const ResolvedCase& record) {
    const bool bad = std::ranges::any_of(record.attempts, [](const Attempt& attempt) {
      return attempt.end && is_bad(attempt.end->verdict.outcome);
    });
    if (bad) bad_suites_.insert({record.planned.suite, record.planned.backend});
  }

  void check(const ResolvedCase& record, const Attempt& attempt) {
    for (const std::string& id : attempt.start.devices) {
      if (std::ranges::find(journal_.run.plan.devices, id, &PlannedDevice::id) ==
          journal_.run.plan.devices.end())
        contradiction(record, fmt::format("it ran on {}, which is not a device of the run", id));
    }
    if (!attempt.end) return;
    check_exit(record, *attempt.end);
    const std::int64_t lasted = attempt.end->duration_ms;
    if (lasted < 0 || lasted > journal_.run.elapsed_ms + kClockGrainMs)
      contradiction(record, fmt::format("its attempt {} lasted {} ms, and the run {} ms",
                                        attempt.start.attempt, lasted, journal_.run.elapsed_ms));
  }

  // What its end says must be what an attempt did.
  void check(const ResolvedCase& record) {
    std::set<std::pair<int, int>> seen;
    for (const Attempt& attempt : record.attempts) {
      check(record, attempt);
      if (!seen.insert({attempt.start.repeat, attempt.start.attempt}).second)
        contradiction(record, fmt::format("its attempt {} is recorded twice", attempt.start.attempt));
    }
    if (!record.end) return;
    const Outcome outcome = record.end->verdict.outcome;
    const bool good = outcome == Outcome::kPass || outcome == Outcome::kXpass;
    const bool expected = outcome == Outcome::kXfail;
    const bool skipped = outcome == Outcome::kSkip && !record.attempts.empty();
    if (!good && !expected && !skipped) return;
    const bool did = std::ranges::any_of(record.attempts, [&](const Attempt& attempt) {
      const Outcome its = verdict_of(attempt).outcome;
      return attempt.end && (its == outcome || (good ? its == Outcome::kPass : expected && is_bad(its)));
    });
    if (!did) contradiction(record, fmt::format("it ended as {}, but no attempt did", to_string(outcome)));
  }

  void contradiction(const ResolvedCase& record, const std::string& what) {
    journal_.flaws.push_back({0, what, record.planned.id});
  }

  ReadError error_;
  bool whole_;
  RunResolver resolver_;
  StrictJournal journal_{};
  JournalChain chain_;
  std::set<std::string> said_;
  std::set<std::pair<std::string, std::string>> bad_suites_;  // in which an attempt of some case was bad
  int number_ = 0;
};

// Of a journal that ends as it should; "" also where it is longer than a list of reports.
std::string last_record(const fs::path& journal) {
  constexpr std::streamoff kMost = std::streamoff{1} << 20;
  std::error_code ignored;
  if (!fs::is_regular_file(journal, ignored)) return "";
  std::ifstream file(journal, std::ios::binary | std::ios::ate);
  file.seekg(std::max<std::streamoff>(file.tellg() - kMost, 0));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!text.ends_with('\n')) return "";
  text.pop_back();
  const auto before = text.rfind('\n');
  return before != text.npos ? text.substr(before + 1) : "";
}

Result<GateReport> read_report(const fs::path& run_dir, const std::string& place,
                               const std::optional<JournalSeal>& seal, bool whole) {
  auto journal = read_strictly(run_dir / "journal.jsonl", place, seal, whole);
  if (!journal) return journal.error();
  GateReport report = gate_report_of(journal->run);
  report.place = place;
  report.sha256 = std::move(journal->sha256);
  report.flaws = std::move(journal->flaws);
  report.other_files = files_changed_since(journal->rendered, run_dir);
  if (whole) report.other_files = files_not_rendered_so(journal->run, run_dir, report.other_files);
  return report;
}

}  // namespace

// Only the newest are looked through: a suite may have as many reasons as cases.
void GateCases::add(std::string_view id, std::uint32_t group, GateEnd end) {
  constexpr std::size_t kSearched = 32;
  std::size_t index = ends_.size();
  for (std::size_t back = 1; back <= std::min(kSearched, ends_.size()); ++back) {
    if (ends_[ends_.size() - back] != end) continue;
    index = ends_.size() - back;
    break;
  }
  if (index == ends_.size()) ends_.push_back(std::move(end));
  ids_ += id;
  cases_.push_back({ids_.size(), group, static_cast<std::uint32_t>(index)});
}

std::string GateReport::name() const {
  if (!plan.shard) return "run " + plan.run_id;
  return fmt::format("shard {}/{} of run {}", plan.shard->index, plan.shard->count, plan.run_id);
}

const GateGroup* GateReport::group(const std::string& suite, const std::string& backend) const {
  const auto found = std::ranges::find_if(
      groups, [&](const GateGroup& group) { return group.suite == suite && group.backend == backend; });
  return found != groups.end() ? &*found : nullptr;
}

std::vector<std::string> GateReport::models(const GateAttempt& attempt) const {
  std::vector<std::string> models;
  for (const std::string& id : attempt.devices) {
    const auto device = std::ranges::find(plan.devices, id, &PlannedDevice::id);
    if (device != plan.devices.end()) models.push_back(device->name);
  }
  return models;
}

GateReport gate_report_of(const ResolvedRun& model) {
  GateReport report;
  report.plan = model.plan;
  report.finished = model.ended ? model.ended->finished : "";
  report.elapsed_ms = model.elapsed_ms;
  report.cut_short = why_cut_short(model);
  for (const Warning& warning : model.warnings) {
    if (is_machine_warning(warning.code) || warning.code == WarningCode::kProgramChanged)
      report.warnings.push_back(warning);
  }
  for (const DeviceHealth& health : model.health) {
    const bool reset = health.what == HealthFact::kReset || health.what == HealthFact::kLost ||
                       health.what == HealthFact::kDrained;
    report.resets += reset ? 1 : 0;
    if (health.what == HealthFact::kKernelLog) report.errors.push_back(health);
    if (health.what == HealthFact::kL1Pass) report.probed.insert(health.device);
  }
  for (const PlannedSuite& suite : model.plan.suites) {
    const ProgramRead read = model.program_read(suite);
    report.programs.push_back({suite.name, suite.backend, read.sha256, read.reason});
  }
  report.evidence = model.hardware;
  Keeper keeper(model, report);
  for (const ResolvedCase& record : model.cases) keeper.add(record);
  return report;
}

Result<StrictJournal> read_strictly(const fs::path& journal, const std::string& place,
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
  // Reports of which nothing is said are made again, which takes the whole journal.
  const bool whole = !rendered_in(last_record(run_dir / "journal.jsonl")) && !reports_in(run_dir).empty();
  auto report = read_report(run_dir, place, seal, whole);
  if (!report || report->other_files.empty() || whole) return report;
  report = GateReport();
  return read_report(run_dir, place, seal, /*whole=*/true);
}

}  // namespace proctor
