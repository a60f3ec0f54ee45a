#include "harness/devices/telemetry/device_monitor.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

namespace proctor {
namespace {

// The answers of all children to one question.
struct Answers {
  std::vector<std::optional<DeviceMonitor::Snapshot>> snapshots;
  std::size_t left = 0;
};

DeviceMonitor::Snapshot merge(const std::vector<std::unique_ptr<ProbeMonitor>>& probes,
                              const Answers& answers) {
  const bool any = std::any_of(answers.snapshots.begin(), answers.snapshots.end(),
                               [](const auto& snapshot) { return static_cast<bool>(*snapshot); });
  if (!any) return *answers.snapshots.front();
  std::vector<DeviceState> states;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto& snapshot = *answers.snapshots[i];
    if (snapshot) {
      states.insert(states.end(), snapshot->begin(), snapshot->end());
      continue;
    }
    const DeviceState unknown{.state = "",
                              .problem = "failed to " + snapshot.error().what,
                              .is_silent = is_silence(snapshot.error()),
                              .used_bytes = std::nullopt,
                              .holders = std::nullopt};
    states.insert(states.end(), probes[i]->ids().size(), unknown);
  }
  return states;
}

}  // namespace

DeviceMonitor::DeviceMonitor(boost::asio::io_context& io, Containment& containment, MonitorSetup setup)
    : io_(io) {
  for (auto& probe : setup.probes) {
    ids_.insert(ids_.end(), probe.ids.begin(), probe.ids.end());
    probes_.push_back(std::make_unique<ProbeMonitor>(io, containment, std::move(probe)));
  }
}

void DeviceMonitor::take_snapshot(const OnSnapshot& on_snapshot) {
  auto answers = std::make_shared<Answers>();
  answers->snapshots.resize(probes_.size());
  answers->left = probes_.size();
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    probes_[i]->take_snapshot([this, answers, i, on_snapshot](const Snapshot& snapshot) {
      answers->snapshots[i] = snapshot;
      if (--answers->left == 0) on_snapshot(merge(probes_, *answers));
    });
  }
}

ProbeMonitor* DeviceMonitor::probe_of(const std::string& id) const {
  for (const auto& probe : probes_) {
    if (std::find(probe->ids().begin(), probe->ids().end(), id) != probe->ids().end()) return probe.get();
  }
  return nullptr;
}

void DeviceMonitor::sample(const std::vector<std::string>& ids, OnSample on_sample) {
  if (ProbeMonitor* probe = ids.empty() ? nullptr : probe_of(ids.front()))
    return probe->sample(ids, std::move(on_sample));
  boost::asio::post(io_, [on_sample = std::move(on_sample)] {
    on_sample(Error::internal("query the devices: no monitor is running"));
  });
}

void DeviceMonitor::renew() {
  for (const auto& probe : probes_) probe->renew();
}

void DeviceMonitor::stop(std::function<void()> gone) {
  auto left = std::make_shared<std::size_t>(probes_.size());
  if (probes_.empty()) return boost::asio::post(io_, std::move(gone));
  auto last = std::make_shared<std::function<void()>>(std::move(gone));
  for (const auto& probe : probes_) {
    probe->stop([left, last] {
      if (--*left == 0) (*last)();
    });
  }
}

}  // namespace proctor
