#include "harness/devices/care/telemetry_source.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace proctor {
namespace {

constexpr const char* kXpu = "xpu";

const ToolDialect& tool_of(const std::string& backend) { return backend == kXpu ? xpu_smi() : nvidia_smi(); }

}  // namespace

TelemetrySource::TelemetrySource(boost::asio::io_context& io, Containment& containment,
                                 const std::string& backend, DeviceMonitor* monitor, ToolSetup tool)
    : io_(io),
      backend_(backend),
      monitor_(monitor),
      tool_(io, containment, tool_of(backend), std::move(tool)) {
  if (monitor_ != nullptr) return;
  stage_ = Stage::kTool;
  why_ = "no library can be asked here";
}

void TelemetrySource::sample(const std::vector<std::string>& ids, OnSample on_sample) {
  switch (stage_) {
    case Stage::kLibrary:
      return request_from_library(ids, std::move(on_sample));
    case Stage::kTool:
      return request_from_tool(ids, std::move(on_sample));
    case Stage::kNothing:
      boost::asio::post(io_, [on_sample = std::move(on_sample), why = why_] {
        on_sample(Error{ErrorKind::kSystem, why, "", 0});
      });
  }
}

void TelemetrySource::request_from_library(const std::vector<std::string>& ids, OnSample on_sample) {
  monitor_->sample(ids, alive_.guard([this, ids, on_sample](const Result<Sample>& sample) {
    if (!sample) {
      warnings_.push_back({WarningCode::kTelemetryTimeout,
                           "failed to " + sample.error().what +
                               "; it is not asked for telemetry again, its values are missing"});
      return on_sample(give_up(sample.error().what));
    }
    if (sample->missing.empty()) return on_sample(sample);
    stage_ = Stage::kTool;
    why_ = sample->missing;
    request_from_tool(ids, on_sample);
  }));
}

void TelemetrySource::request_from_tool(const std::vector<std::string>& ids, OnSample on_sample) {
  const std::string real = backend_ + ":";
  const bool simulated =
      std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return !id.starts_with(real); });
  if (simulated) {
    why_ += "; no tool knows simulated devices";
    stage_ = Stage::kNothing;
    return sample(ids, std::move(on_sample));
  }
  tool_.sample(ids, alive_.guard([this, on_sample = std::move(on_sample)](const Result<Sample>& sample) {
    for (auto& warning : tool_.take_warnings()) warnings_.push_back(std::move(warning));
    if (sample) return on_sample(sample);
    on_sample(give_up(why_ + "; " + sample.error().what));
  }));
}

Error TelemetrySource::give_up(const std::string& why) {
  stage_ = Stage::kNothing;
  why_ = why;
  return Error{ErrorKind::kSystem, why, "", 0};
}

void TelemetrySource::stop(std::function<void()> gone) {
  alive_.renew();
  tool_.stop(std::move(gone));
}

}  // namespace proctor
