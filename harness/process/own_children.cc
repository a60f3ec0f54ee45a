#include "harness/process/own_children.h"

#include <unistd.h>

#include "harness/process/strays.h"

namespace proctor {

OwnChildren::OwnChildren() : list_(guard::open_children(getpid())) {
  for (const pid_t pid : guard::descendants(getpid(), list_.get())) {
    if (const auto stat = read_stat(pid)) before_.emplace(pid, stat->start_time);
  }
}

guard::PidList OwnChildren::now() const {
  const guard::PidList all = guard::read_children(list_.get());
  guard::PidList found;
  if (all.why_not_whole() != 0) found.miss(all.why_not_whole());
  for (const pid_t pid : all) {
    if (!was_there(pid)) found.push(pid);
  }
  return found;
}

// Where its start time cannot be read any more, its pid is enough: a child keeps it until somebody reaps it.
bool OwnChildren::was_there(pid_t pid) const {
  const auto found = before_.find(pid);
  if (found == before_.end()) return false;
  const auto stat = read_stat(pid);
  return !stat || stat->start_time == found->second;
}

}  // namespace proctor
