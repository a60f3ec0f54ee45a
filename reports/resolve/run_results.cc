#include "reports/resolve/run_results.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "harness/base/digest.h"
#include "harness/base/regular_file.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/events.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/rerun.h"

namespace proctor {
namespace {

// Returns the facts of the machine, of its drivers, and of a simulation. A run without simulated faults has this as a
// known fact, so that it differs from a run with faults.
std::vector<StackFact> stack_of(const RunPlanned& plan) {
  std::vector<StackFact> stack = plan.fingerprint;
  const auto add = [&stack](const std::string& name, std::optional<std::string> value,
                            const std::string& source) {
    const bool is_absent = !value;
    if (std::ranges::find(stack, name, &StackFact::name) == stack.end())
      stack.push_back({name, std::move(value), source, "", is_absent});
  };
  for (const auto& [name, value] : plan.stack) {
    // Entries about the parts of a joined run are not facts of the stack.
    if (!name.starts_with("shard.") && !name.starts_with(kCommandEntry)) add(name, value, "");
  }
  if (plan.sim) {
    add("sim.topology", plan.sim->topology, "--sim");
    add("sim.driver", plan.sim->driver, "--sim");
    add(kSimFaultsEntry, std::nullopt, "PROCTOR_SIM_FAULTS");
  }
  return stack;
}

// Parses the form of merge_runs(): "run ID on HOST, ...". The only shard of a plan has the id
// of the run, and is not a part.
std::vector<std::string> shards_of(const RunPlanned& plan) {
  std::vector<std::string> shards;
  for (const auto& [name, value] : plan.stack) {
    if (!name.starts_with("shard.") || !value.starts_with("run ")) continue;
    std::string shard = value.substr(4, value.find(' ', 4) - 4);
    if (shard != plan.run_id) shards.push_back(std::move(shard));
  }
  return shards;
}

// In a merged run of several hosts, a device is HOST/ID.
std::vector<UsedDevice> used_devices(const ResolvedRun& run) {
  std::vector<UsedDevice> devices;
  for (const PlannedDevice& planned : run.plan.devices) {
    UsedDevice device{.id = planned.id, .host = run.plan.hostname, .model = planned.name};
    if (const auto slash = planned.id.find('/'); slash != planned.id.npos) {
      device.host = planned.id.substr(0, slash);
      device.id = planned.id.substr(slash + 1);
    }
    const auto share = std::ranges::find(run.device_shares, planned.id, &DeviceShare::device);
    if (share != run.device_shares.end()) {
      device.attempts = share->all;
      device.failed_attempts = share->bad;
    }
    device.drained = std::ranges::any_of(run.health, [&](const DeviceHealth& health) {
      return health.what == HealthFact::kDrained && health.device == planned.id;
    });
    devices.push_back(std::move(device));
  }
  return devices;
}

CaseResult result_of(const ResolvedCase& test) {
  CaseResult result{.id = test.planned.id,
                    .variant = test.variant,
                    .verdict = test.verdict,
                    .result_class = test.result_class,
                    .attempts = attempt_count(test),
                    .flaky = test.flaky,
                    .duration_ms = test.duration_ms,
                    .device = telling_devices(test)};
  if (test.telling != nullptr && test.telling->end) result.measures = test.telling->end->measures;
  return result;
}

void add_cases(const ResolvedRun& run, RunResults& results) {
  std::map<std::string, std::uint32_t> causes;
  results.cases.reserve(run.cases.size());
  for (const ResolvedCase& test : run.cases) {
    CaseResult& result = results.cases.emplace_back(result_of(test));
    if (test.result_class == ResultClass::kPassing && !test.moved && !test.flaky) continue;
    const auto [found, is_new] =
        causes.try_emplace(cause_key(test), static_cast<std::uint32_t>(results.causes.size()));
    if (is_new) results.causes.push_back({found->first, test.headline});
    set_cause(results, found->second, test.headline, result);
  }
}

}  // namespace

std::string describe(const RunResults& results, const CaseResult& result) {
  if (!result.text.empty() || result.cause == kNoCause) return result.text;
  return results.causes[result.cause].text;
}

void set_cause(const RunResults& results, std::uint32_t cause, std::string text, CaseResult& result) {
  result.cause = cause;
  if (text != results.causes[cause].text) result.text = std::move(text);
}

RunResults results_of(const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  RunResults results;
  results.run_id = plan.run_id;
  results.started = plan.started;
  results.parts = shards_of(plan);
  results.subject = plan.subject;
  results.plan_digest = plan.plan_digest;
  results.stack = stack_of(plan);
  for (const PlannedSuite& suite : plan.suites) {
    results.programs.push_back({suite.name, suite.backend, run.program_read(suite).sha256});
  }
  results.devices = used_devices(run);
  results.exit_code = run.shell_exit_code;
  results.verdict = run.verdict;
  results.simulated = run.simulated;
  results.complete = run.ended.has_value();
  results.variants = run.variants;
  add_cases(run, results);
  return results;
}

std::vector<FactChange> moved_facts(const std::vector<StackFact>& before,
                                    const std::vector<StackFact>& after) {
  std::map<std::string_view, const StackFact*> then;
  for (const StackFact& fact : before) then.try_emplace(fact.name, &fact);
  const auto is_known = [](const StackFact& fact) { return fact.value || fact.absent; };
  std::vector<FactChange> moved;
  for (const StackFact& fact : after) {
    const auto old = then.find(fact.name);
    if (old == then.end() || !is_known(*old->second) || !is_known(fact)) continue;
    if (old->second->value != fact.value) moved.push_back({fact.name, old->second->value, fact.value});
  }
  std::ranges::sort(moved, {}, &FactChange::name);
  return moved;
}

Result<std::string> journal_sha256(const std::filesystem::path& journal) {
  auto opened = open_regular_stream(journal.string(), kMostJournal);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  Sha256 digest;
  std::string buffer(std::size_t{1} << 16, '\0');
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    digest.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) return Error::system("read " + journal.string(), errno);
  return digest.hex();
}

namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;
constexpr std::size_t kLongestHead = 16'384;  // no id is longer
constexpr std::size_t kTypeIsWithin = 64;
constexpr std::string_view kType = R"("type":"attempt_ended",)";
constexpr std::string_view kRest = R"(,"exit_code":)";

// The members of an attempt_ended record that determine the duration of a case.
struct EndedAttempt {
  std::string case_id{};
  std::int64_t duration_ms = -1;
  Outcome outcome = Outcome::kNotrun;
};

// Takes the text before `end` from `rest`, and `end` itself. Returns nothing if `end` is not in it.
std::optional<std::string_view> take_until(std::string_view end, std::string_view& rest) {
  const std::size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return taken;
}

// Reads the head of a record as to_json_line() writes it, for an id without escapes. A JSON
// parser takes ten times as long.
std::optional<EndedAttempt> read_plain_head(std::string_view head) {
  if (!take_until(R"("type":"attempt_ended","case":")", head)) return std::nullopt;
  const auto id = take_until(R"(",)", head);
  if (!id || id->find_first_of("\\\"") != std::string_view::npos) return std::nullopt;
  if (!take_until(R"("duration_ms":)", head)) return std::nullopt;
  EndedAttempt ended{.case_id = std::string(*id)};
  const auto number = std::from_chars(head.data(), head.data() + head.size(), ended.duration_ms);
  head.remove_prefix(static_cast<std::size_t>(number.ptr - head.data()));
  if (number.ec != std::errc() || !head.starts_with(R"(,"verdict":{"outcome":")")) return std::nullopt;
  take_until(R"(":{"outcome":")", head);
  const auto outcome = take_until(R"(",)", head);
  const auto known = outcome ? parse_outcome(*outcome) : std::nullopt;
  if (!known) return std::nullopt;
  ended.outcome = *known;
  return ended;
}

std::optional<EndedAttempt> read_head(std::string_view head) {
  if (auto plain = read_plain_head(head)) return plain;
  const auto event = parse_json_line(std::string(head) + "}");
  if (!event || !*event) return std::nullopt;
  const auto* ended = std::get_if<AttemptEnded>(&**event);
  if (ended == nullptr) return std::nullopt;
  return EndedAttempt{ended->case_id, ended->duration_ms, ended->verdict.outcome};
}

// Most of a record is output and telemetry. Its head, up to the verdict, is parsed as a record.
void add_attempt(std::string_view line, std::map<std::string, double>& durations) {
  if (line.substr(0, kTypeIsWithin).find(kType) == std::string_view::npos) return;
  const std::size_t rest = line.substr(0, kLongestHead).find(kRest);
  if (rest == std::string_view::npos) return;
  const auto ended = read_head(line.substr(0, rest));
  if (!ended || ended->case_id.empty() || ended->duration_ms < 0) return;
  if (ended->outcome == Outcome::kSkip || ended->outcome == Outcome::kNotrun) return;
  durations[ended->case_id] += static_cast<double>(ended->duration_ms);
}

}  // namespace

std::map<std::string, double> journal_durations(const std::string& path, ReadingLimit& limit) {
  std::map<std::string, double> durations;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return durations;
  std::string piece(kReadAtOnce, '\0');
  std::string begun;  // the head of a line that continues in the next piece
  do {
    const ssize_t count = ::read(file.get(), piece.data(), std::min(limit.bytes, piece.size()));
    if (count <= 0) break;
    std::string_view rest(piece.data(), static_cast<std::size_t>(count));
    limit.bytes -= rest.size();
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      add_attempt(begun.empty() ? line : begun.append(line.substr(0, kLongestHead)), durations);
      begun.clear();
      rest.remove_prefix(end + 1);
    }
    if (begun.size() < kLongestHead) begun.append(rest.substr(0, kLongestHead));
  } while (limit.bytes > 0 && std::chrono::steady_clock::now() < limit.until);
  return durations;
}

}  // namespace proctor
