#include "harness/runner/attempt/case_tracker.h"

#include <algorithm>
#include <utility>

namespace proctor {

CaseTracker::CaseTracker(const AttemptPlan& plan, bool starting)
    : plan_(plan),
      child_(plan.kind().name_for_child(*plan.first().test)),
      begun_(plan.cases.size()),
      starting_(starting) {
  for (std::size_t which = 0; plan.is_batch() && which < plan.cases.size(); ++which)
    by_name_.emplace(plan.kind().name_for_child(*of(which).test), which);
}

std::optional<std::size_t> CaseTracker::begun_by(std::string_view line) const {
  const auto name = plan_.is_batch() ? ChildReport::started_case(line) : std::nullopt;
  const auto found = name ? by_name_.find(*name) : by_name_.end();
  if (found == by_name_.end() || begun_[found->second]) return std::nullopt;
  return found->second;
}

void CaseTracker::begin(const Open& open) {
  open_ = open;
  begun_[open.which] = true;
}

void CaseTracker::listen_to(std::size_t which) {
  child_ = ChildReport(plan_.kind().name_for_child(*of(which).test));
  starting_ = false;
}

void CaseTracker::mark_reported(Clock::time_point now) {
  if (open_ && !ending_ && !open_->reported) open_->reported = now;
}

CaseTracker::Open CaseTracker::set_aside(Clock::time_point now) {
  if (!open_->reported) open_->reported = now;
  return *std::exchange(open_, std::nullopt);
}

void CaseTracker::reopen(const Open& open, ChildReport child) {
  open_ = open;
  child_ = std::move(child);
}

CaseTracker::Received CaseTracker::add_line(std::string_view line, Clock::time_point now) {
  child_.add_line(line);
  // Events that a framework writes after our signal are not the end of a case.
  if (ending_) return Received::kNothing;
  if (why_unreliable_.empty() && contradicts_itself()) {
    mark_unreliable(
        "reported events that one process cannot report: " +
        (child_.also_ran().empty() ? child_.first_violation() : "a second begin of " + child_.also_ran()));
    return Received::kContradiction;
  }
  if (!plan_.is_batch() && open_ && !open_->start_reported && ChildReport::started_case(line)) {
    open_->start_reported = now;
    if (std::exchange(starting_, false)) return Received::kStarted;
  }
  if (!open_ || open_->reported || !child_.result()) return Received::kNothing;
  open_->reported = now;
  return Received::kReported;
}

// A process with one case is judged together with its case, so this check covers shared processes only.
bool CaseTracker::contradicts_itself() const {
  return plan_.is_batch() && open_ && (child_.violations() > 0 || !child_.also_ran().empty());
}

void CaseTracker::mark_unreliable(std::string why) {
  if (why_unreliable_.empty()) why_unreliable_ = std::move(why);
}

bool CaseTracker::is_unproven() const {
  return !why_unreliable_.empty() && child_.failures().empty() && child_.result() != ChildResult::kFail;
}

void CaseTracker::close(Outcome outcome) {
  if (is_unproven()) unproven_.insert(open_->which);
  open_.reset();
  another_was_bad_ = another_was_bad_ || outcome == Outcome::kFail || outcome == Outcome::kError;
}

Milliseconds CaseTracker::lasted(Clock::time_point then) const {
  const auto time = std::chrono::duration_cast<Milliseconds>(open_->reported.value_or(then) - open_->started);
  return std::max(time, Milliseconds(0));
}

bool CaseTracker::none_began() const { return std::find(begun_.begin(), begun_.end(), true) == begun_.end(); }

std::vector<std::size_t> CaseTracker::not_begun() const {
  std::vector<std::size_t> rest;
  for (std::size_t which = 0; which < begun_.size(); ++which) {
    if (!begun_[which]) rest.push_back(which);
  }
  return rest;
}

std::vector<std::string> CaseTracker::begun() const {
  std::vector<std::string> cases;
  for (std::size_t which = 0; which < begun_.size() && plan_.is_batch(); ++which) {
    if (begun_[which]) cases.push_back(of(which).test->id);
  }
  return cases;
}

}  // namespace proctor
