#include "harness/process/cgroup_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace proctor {

CgroupWatch::CgroupWatch(const std::string& run)
    : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), run_(add(run)) {}

int CgroupWatch::add(const std::string& cgroup) {
  if (!inotify_) return -1;
  return inotify_add_watch(inotify_.get(), (cgroup + "/cgroup.kill").c_str(), IN_MODIFY);
}

CgroupWatch::Leaf CgroupWatch::begin(const std::string& leaf) {
  read_events();
  const int id = add(leaf);
  if (id >= 0) of_leaf_[id] = 0;
  return {id, of_run_};
}

void CgroupWatch::end(const Leaf& leaf) {
  if (leaf.id >= 0 && of_leaf_.erase(leaf.id) > 0) inotify_rm_watch(inotify_.get(), leaf.id);
}

bool CgroupWatch::was_killed(const Leaf& leaf) {
  read_events();
  const auto found = of_leaf_.find(leaf.id);
  return of_run_ > leaf.before || (found != of_leaf_.end() && found->second > 0);
}

// The watched files are not directories, so an event has no name.
void CgroupWatch::read_events() {
  if (!inotify_) return;
  std::array<std::byte, 64 * sizeof(inotify_event)> events{};
  for (;;) {
    const ssize_t got = read(inotify_.get(), events.data(), events.size());
    if (got <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got); at += sizeof(inotify_event)) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof(event));
      if ((event.mask & IN_MODIFY) == 0) continue;
      if (event.wd == run_) ++of_run_;
      if (const auto leaf = of_leaf_.find(event.wd); leaf != of_leaf_.end()) ++leaf->second;
    }
  }
}

}  // namespace proctor
