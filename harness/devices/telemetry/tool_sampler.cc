#include "harness/devices/telemetry/tool_sampler.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/process/contained_process.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxTable = 1 << 20;

// "xpu:0000:03:00.0" -> "0000:03:00.0", "cuda:GPU-.." -> "GPU-.."
std::string own_name(const std::string& id) { return id.substr(id.find(':') + 1); }

}  // namespace

ToolSampler::ToolSampler(boost::asio::io_context& io, Containment& containment, const ToolDialect& dialect,
                         ToolSetup setup)
    : io_(io), containment_(containment), dialect_(dialect), setup_(std::move(setup)) {}

ToolSampler::~ToolSampler() {
  alive_.end();
  if (process_) process_->stop(SIGKILL, Milliseconds(0));
}

void ToolSampler::sample(const std::vector<std::string>& ids, OnSample on_sample) {
  on_sample_ = std::move(on_sample);
  ids_ = ids;
  next_ = 0;
  sample_ = {};
  if (given_up_.empty()) return call_next();
  boost::asio::post(io_, alive_.guard([this] { answer(Error{ErrorKind::kSystem, given_up_, "", 0}); }));
}

void ToolSampler::stop(std::function<void()> gone) {
  on_sample_ = nullptr;
  if (!process_) return boost::asio::post(io_, std::move(gone));
  gone_ = std::move(gone);
  process_->stop(SIGKILL, Milliseconds(0));
}

std::vector<std::string> ToolSampler::command() const {
  if (!dialect_.key_column.empty()) {
    return {dialect_.program,
            "--query-gpu=uuid,memory.used,utilization.gpu,temperature.gpu,power.draw,clocks.sm,"
            "clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total",
            "--format=csv"};
  }
  // 0 utilisation, 1 power, 2 frequency, 3 core temperature, 18 memory used; once.
  return {dialect_.program, "dump", "-d", own_name(ids_[next_]), "-m", "0,1,2,3,18", "-n", "1"};
}

void ToolSampler::call_next() {
  ProcessSpec spec;
  spec.argv = command();
  spec.env = setup_.env;
  spec.keep_stdout = true;
  spec.max_kept_stdout = kMaxTable;
  spec.limits.timeout = setup_.deadline;
  spec.limits.fair = true;
  spec.limits.grace = Milliseconds(0);
  process_ = ContainedProcess::start(io_, containment_, std::move(spec),
                                     alive_.guard([this](const ProcessEnd& end) { on_end(end); }));
}

void ToolSampler::on_end(const ProcessEnd& end) {
  process_.reset();
  if (gone_) return gone_();
  const auto& program = dialect_.program;
  if (end.spawn_error) {
    const bool absent = end.spawn_error->err == ENOENT;
    return give_up(std::nullopt, absent ? program + " is not on PATH" : program + " cannot be started");
  }
  if (end.cause == EndCause::kTimeout) {
    return give_up(WarningCode::kTelemetryTimeout, fmt::format("{} did not answer within {} and was killed",
                                                               program, format_duration(setup_.deadline)));
  }
  if (end.exit_code != 0) {
    const std::string how = end.exit_code ? fmt::format("exit code {}", *end.exit_code)
                                          : fmt::format("signal {}", end.exit_signal.value_or(0));
    return give_up(WarningCode::kTelemetryTool, fmt::format("{} ended with {}", program, how));
  }
  const auto table = parse_tool_table(end.kept_stdout, dialect_);
  if (!table) {
    const std::string why = clean_text(table.error().what).substr(0, 300);
    return give_up(WarningCode::kTelemetryTable,
                   fmt::format("{} prints an unknown table: failed to {}", program, why));
  }
  add(*table);
  ++next_;
  if (dialect_.key_column.empty() && next_ < ids_.size()) return call_next();
  answer(std::exchange(sample_, {}));
}

void ToolSampler::add(const ToolTable& table) {
  if (!table.unknown.empty() && !std::exchange(told_unknown_, true)) {
    warnings_.push_back({WarningCode::kTelemetryTable,
                         fmt::format("{} prints a table without {}: {}", dialect_.program,
                                     joined(table.unknown, ", "), clean_text(table.header).substr(0, 300))});
  }
  for (const auto& row : table.rows) {
    const auto id = std::find_if(ids_.begin(), ids_.end(),
                                 [&](const std::string& one) { return own_name(one) == row.key; });
    if (dialect_.key_column.empty()) {
      sample_.devices[ids_[next_]] = row.values;
    } else if (id != ids_.end()) {
      sample_.devices[*id] = row.values;
    }
  }
}

void ToolSampler::give_up(std::optional<WarningCode> code, const std::string& why) {
  given_up_ = why;
  if (code) warnings_.push_back({*code, why + "; it is not asked again, its values are missing"});
  answer(Error{ErrorKind::kSystem, why, "", 0});
}

void ToolSampler::answer(const Result<Sample>& sample) {
  if (const auto on_sample = std::exchange(on_sample_, nullptr)) on_sample(sample);
}

}  // namespace proctor
