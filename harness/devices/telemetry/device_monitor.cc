#include "harness/devices/telemetry/device_monitor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/base/json.h"
#include "harness/process/contained_process.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr Milliseconds kPoll{1'000};  // interval of checks on a child that has not responded yet

DeviceState parse_state(const json& entry) {
  DeviceState state{};
  state.state = entry.at("state");
  if (const json& memory = entry.at("memory"); !memory.is_null()) state.used_bytes = memory.at("used");
  if (const json& holders = entry.at("holders"); !holders.is_null()) {
    state.holders.emplace();
    for (const json& holder : holders) state.holders->push_back({holder.at("pid"), holder.at("bytes")});
  }
  return state;
}

std::string how_it_ended(const ProcessEnd& end) {
  if (end.spawn_error)
    return "cannot be started: " + end.spawn_error->step + ": " + std::strerror(end.spawn_error->err);
  if (end.exit_signal) return "was killed by signal " + std::to_string(*end.exit_signal);
  return "ended with exit code " + std::to_string(end.exit_code.value_or(-1));
}

}  // namespace

ProbeMonitor::Snapshot parse_snapshot(std::string_view line, std::size_t devices) {
  const json document = parse_json(line);
  try {  // nlohmann::json throws
    std::vector<DeviceState> states;
    if (const std::string problem = document.value("problem", ""); !problem.empty())
      return Error::internal("check the devices: " + problem);
    for (const json& entry : document.at("devices")) states.push_back(parse_state(entry));
    if (states.size() == devices) return states;
    return Error::internal("check the devices: " + std::to_string(states.size()) + " of " +
                           std::to_string(devices) + " answered");
  } catch (const json::exception& error) {
    return Error::internal(std::string("read the state of the devices: ") + error.what());
  }
}

ProbeMonitor::ProbeMonitor(boost::asio::io_context& io, Containment& containment, ProbeMonitorSetup setup)
    : io_(io), containment_(containment), setup_(std::move(setup)), deadline_(io) {}

ProbeMonitor::~ProbeMonitor() { end_child(); }

void ProbeMonitor::take_snapshot(OnSnapshot on_snapshot) {
  waiting_.push_back(std::move(on_snapshot));
  if (!is_requesting()) send_request();
}

void ProbeMonitor::sample(const std::vector<std::string>& ids, OnSample on_sample) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < setup_.ids.size() && i < 64; ++i) {
    const bool wanted = std::find(ids.begin(), ids.end(), setup_.ids[i]) != ids.end();
    mask |= static_cast<std::uint64_t>(wanted) << i;
  }
  samples_waiting_.push_back({fmt::format("s{:016x}", mask), std::move(on_sample)});
  if (!is_requesting()) send_request();
}

void ProbeMonitor::stop(std::function<void()> stopped) {
  requested_.clear();
  waiting_.clear();
  sampling_.reset();
  samples_waiting_.clear();
  deadline_.cancel();
  if (!process_) return boost::asio::post(io_, std::move(stopped));
  stopped_ = std::move(stopped);
  process_->stop(SIGKILL, Milliseconds(0));
}

void ProbeMonitor::end_child() {
  received_.renew();
  if (process_) process_->stop(SIGKILL, Milliseconds(0));
  process_.reset();
  requests_.reset();
  ::unlink(setup_.fifo.c_str());  // the next child gets a new FIFO that this child cannot read
}

bool ProbeMonitor::start() {
  if (mkfifo(setup_.fifo.c_str(), 0600) != 0) return false;
  // The FIFO is also opened for reading: a write-only open fails while it has no reader.
  requests_ = UniqueFd(open(setup_.fifo.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!requests_) return false;
  ProcessSpec spec;
  spec.argv = setup_.argv;
  spec.argv.insert(spec.argv.end(), {"--monitor", setup_.fifo});
  spec.env = setup_.env;
  spec.reach = Reach::kHostPids;  // the child reports the host pids of processes with memory on a device
  spec.events = true;
  spec.on_event_line = received_.guard([this](std::string_view line) { on_line(line); });
  process_ = ContainedProcess::start(io_, containment_, std::move(spec),
                                     received_.guard([this](const ProcessEnd& end) {
                                       if (stopped_) return stopped_();
                                       give_up("the program that queries " + how_it_ended(end));
                                     }));
  return true;
}

void ProbeMonitor::send_request() {
  if (std::exchange(stale_, false)) end_child();
  if (!waiting_.empty()) {
    requested_ = std::exchange(waiting_, {});
    return send("?", setup_.deadline);
  }
  if (samples_waiting_.empty()) return;
  SampleRequest request = std::move(samples_waiting_.front());
  samples_waiting_.pop_front();
  sampling_ = std::move(request.on_sample);
  send(request.bytes, setup_.sample_deadline);
}

void ProbeMonitor::send(const std::string& request, Milliseconds deadline) {
  const auto size = static_cast<ssize_t>(request.size());
  if (!process_) deadline = std::max(deadline, setup_.deadline);  // the child must load the driver first
  if ((!process_ && !start()) || write(requests_.get(), request.data(), request.size()) != size) {
    const std::string why = std::strerror(errno);
    boost::asio::post(io_, received_.guard([this, why] { give_up(why); }));
    return;
  }
  patience_.emplace();
  await_answer(deadline);
}

// Waits for the child's CPU time as well: on a busy machine the child may be late although the driver works.
void ProbeMonitor::await_answer(Milliseconds deadline) {
  deadline_.expires_after(std::min(deadline, kPoll));
  deadline_.async_wait(received_.guard([this, deadline](const auto& error) {
    if (error) return;
    patience_->sample(process_ ? process_->leader_pid() : 0);
    if (!patience_->is_over(deadline)) return await_answer(deadline);
    give_up("the driver did not respond within " + format_duration(deadline));
  }));
}

void ProbeMonitor::on_line(std::string_view line) {
  if (sampling_) return answer_sample(parse_sample(line, setup_.ids));
  answer(parse_snapshot(line, setup_.ids.size()));
}

void ProbeMonitor::answer(const Snapshot& snapshot) {
  deadline_.cancel();
  const auto answered = std::exchange(requested_, {});
  for (const auto& on_snapshot : answered) on_snapshot(snapshot);
  if (!is_requesting()) send_request();
}

void ProbeMonitor::answer_sample(const Result<Sample>& sample) {
  deadline_.cancel();
  const auto answered = std::exchange(sampling_, std::nullopt);
  if (answered) (*answered)(sample);
  if (!is_requesting()) send_request();
}

void ProbeMonitor::give_up(const std::string& why) {
  end_child();
  const Error error{ErrorKind::kSystem, "query the devices: " + why, "", 0};
  if (sampling_) return answer_sample(error);
  answer(error);
}

namespace {

// Collects the responses of all children to one request.
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

void DeviceMonitor::stop(std::function<void()> stopped) {
  auto left = std::make_shared<std::size_t>(probes_.size());
  if (probes_.empty()) return boost::asio::post(io_, std::move(stopped));
  auto last = std::make_shared<std::function<void()>>(std::move(stopped));
  for (const auto& probe : probes_) {
    probe->stop([left, last] {
      if (--*left == 0) (*last)();
    });
  }
}

}  // namespace proctor
