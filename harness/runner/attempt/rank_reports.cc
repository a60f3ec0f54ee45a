#include "harness/runner/attempt/rank_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/json.h"
#include "harness/base/result.h"

namespace proctor {
namespace {

using nlohmann::json;

template <typename T>
std::optional<T> optional_of(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? std::optional<T>(it->get<T>()) : std::nullopt;
}

constexpr const char* kEndedByRunner = "ended";

}  // namespace

RankReports::RankReports(const std::string& case_name, const Kind& kind, std::size_t ranks, int skip_code)
    : kind_(kind), skip_code_(skip_code) {
  for (std::size_t i = 0; i < ranks; ++i) {
    ranks_.push_back({.child = ChildReport(case_name), .end = {}});
    ranks_.back().end.rank = static_cast<int>(i);
  }
}

void RankReports::add_line(std::string_view line) {
  std::size_t teller = ranks_.size();
  const auto [number_end, error] = std::from_chars(line.data(), line.data() + line.size(), teller);
  const auto digits = static_cast<std::size_t>(number_end - line.data());
  if (error == std::errc() && teller < ranks_.size() && line.substr(digits, 1) == " ")
    return ranks_[teller].child.add_line(line.substr(digits + 1));
  const json event = parse_json(line);
  const auto rank = event.is_object() ? optional_of<std::size_t>(event, "rank") : std::nullopt;
  if (rank && *rank < ranks_.size() && text_at(event, "event") == "rank_end")
    return end(ranks_[*rank], event);
  if (leaked_line_.empty()) leaked_line_ = line.substr(0, 200);
}

void RankReports::end(Rank& rank, const json& event) {
  rank.ended = true;
  rank.refused = optional_of<int>(event, "errno");
  rank.end.exit_code = optional_of<int>(event, "exit");
  rank.end.exit_signal = optional_of<int>(event, "signal");
  rank.end.stopped_by_proctor = event.value("stopped_by_proctor", json()) == true;
  rank.pid = optional_of<int>(event, "pid").value_or(0);
  rank.core_dumped = event.value("core", json()) == true;
  rank.words = {.out = text_at(event, "out"), .err = text_at(event, "err")};
  rank.end.bytes = optional_of<std::uint64_t>(event, "bytes").value_or(0);
  rank.end.dropped_bytes = optional_of<std::uint64_t>(event, "dropped_bytes").value_or(0);
  order_.push_back(static_cast<std::size_t>(rank.end.rank));
}

Verdict RankReports::judge_rank(const Rank& rank) const {
  if (rank.refused) return {Outcome::kError, {Reason::kSpawn, errno_name(*rank.refused)}};
  if (!rank.child.leaves().empty()) return judge_left(rank);
  AttemptEvidence evidence{.kind = {&kind_, skip_code_}, .child = rank.child};
  evidence.exit_code = rank.end.exit_code;
  evidence.exit_signal = rank.end.exit_signal;
  if (rank.end.stopped_by_proctor) return {Outcome::kTimeout, Reason::kStoppedByProctor};
  return proctor::judge(evidence);
}

Verdict RankReports::judge_left(const Rank& rank) const {
  if (!rank.child.failures().empty()) return {Outcome::kFail, rank.child.reason()};
  const RankEnd& end = rank.end;
  std::string how = end.exit_signal ? fmt::format("signal:{}", *end.exit_signal)
                                    : fmt::format("exit:{}", end.exit_code.value_or(0));
  if (end.stopped_by_proctor) how = kEndedByRunner;
  if (how == rank.child.leaves()) return {Outcome::kPass, {}};
  return {Outcome::kFail, {Reason::kRankEnded, how}};
}

const RankReports::Rank* RankReports::first_bad() const {
  for (const std::size_t which : order_) {
    const Rank& rank = ranks_[which];
    const bool by_runner = rank.interrupted || (rank.end.stopped_by_proctor && rank.child.leaves().empty());
    if (!by_runner && is_bad(judge_rank(rank).outcome)) return &rank;
  }
  return nullptr;
}

const RankReports::Rank* RankReports::answering() const {
  if (const Rank* rank = first_bad()) return rank;
  for (const std::size_t which : order_) {
    if (is_bad(judge_rank(ranks_[which]).outcome)) return &ranks_[which];
  }
  return nullptr;
}

Verdict RankReports::judge(const AttemptEvidence& supervisor) const {
  const bool by_limit = supervisor.cause == EndCause::kTimeout || supervisor.cause == EndCause::kStall;
  if (by_limit && first_bad() != nullptr) return judge_rank(*first_bad());
  if (supervisor.cause != EndCause::kExited) return proctor::judge(supervisor);
  return judge_leak(supervisor, judge_together(supervisor));
}

Verdict RankReports::judge_together(const AttemptEvidence& supervisor) const {
  // The supervisor died of a signal that neither its guard nor the runner sent, so a process of the case sent it.
  if (supervisor.exit_signal) {
    const Rank* rank = first_bad();
    return rank ? judge_rank(*rank) : Verdict{Outcome::kCrash, {Reason::kSignal, *supervisor.exit_signal}};
  }
  const bool all_reported = order_.size() == ranks_.size();
  if (!all_reported || supervisor.exit_code != 0 || !leaked_line_.empty())
    return {Outcome::kError, Reason::kRankLost};
  if (const Rank* rank = answering()) return judge_rank(*rank);
  std::vector<ReasonText> skips;
  for (const Rank& rank : ranks_) {
    const Verdict verdict = judge_rank(rank);
    if (verdict.outcome == Outcome::kSkip) skips.push_back(verdict.reason);
  }
  if (skips.empty()) return {Outcome::kPass, {}};
  const bool alike = skips.size() == ranks_.size() && std::count(skips.begin(), skips.end(), skips.front()) ==
                                                          static_cast<std::ptrdiff_t>(skips.size());
  return alike ? Verdict{Outcome::kSkip, skips.front()} : Verdict{Outcome::kError, Reason::kRanksDisagree};
}

ChildReport RankReports::merged() const {
  std::vector<const ChildReport*> children;
  for (const Rank& rank : ranks_) children.push_back(&rank.child);
  return ChildReport::of_ranks(children);
}

std::vector<RankEnd> RankReports::ends() const {
  std::vector<RankEnd> ends;
  for (const Rank& rank : ranks_) {
    RankEnd& end = ends.emplace_back(rank.end);
    end.announced_end = rank.child.leaves();
    end.last_step = rank.child.last_step();
    if (rank.ended && !rank.interrupted) end.verdict = judge_rank(rank);
  }
  return ends;
}

void RankReports::interrupt() {
  for (Rank& rank : ranks_) rank.interrupted = rank.interrupted || !rank.ended;
}

std::optional<RankReports::Words> RankReports::describe_answer() const {
  const Rank* rank = first_bad();
  return rank == nullptr ? std::nullopt : std::optional(rank->words);
}

std::string RankReports::who_answers() const {
  const Rank* rank = answering();
  if (rank == nullptr || !rank->child.failures().empty()) return {};
  const std::string& step = rank->child.last_step();
  return fmt::format("rank {}: {}{}", rank->end.rank, to_string(judge_rank(*rank)),
                     step.empty() ? "" : " in step \"" + step + "\"");
}

std::optional<CrashedProcessEnd> RankReports::crash_of_answer() const {
  const Rank* rank = first_bad();
  if (rank == nullptr || !rank->end.exit_signal || !rank->child.leaves().empty()) return std::nullopt;
  return CrashedProcessEnd{rank->pid, *rank->end.exit_signal, rank->core_dumped};
}

std::string RankReports::who_is_left() const {
  std::string text;
  for (const Rank& rank : ranks_) {
    if (rank.ended && !rank.interrupted) continue;
    const std::string& step = rank.child.last_step();
    text += fmt::format("{}rank {} {}", text.empty() ? "had not ended: " : ", ", rank.end.rank,
                        step.empty() ? "before its first step" : "in step \"" + step + "\"");
  }
  return text;
}

}  // namespace proctor
