#include "harness/devices/telemetry/tool_sampler.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/process/contained_process.h"

namespace proctor {
namespace {

constexpr std::string_view kBlanksAndQuotes = " \t\r\"";

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, comma), kBlanksAndQuotes));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

struct Header {
  std::string name;  // lower case, without the unit
  std::string unit;  // lower case
};

// Splits a header cell into name and unit: "power.draw [W]", "GPU Power (W)". A "(%)" in the middle belongs
// to the name.
Header parse_header(const std::string& cell) {
  const auto open = cell.find_last_of("[(");
  const bool unit = open != std::string::npos && !cell.empty() && (cell.back() == ']' || cell.back() == ')');
  if (!unit) return {lower_case(cell), ""};
  return {lower_case(trimmed(cell.substr(0, open), kBlanksAndQuotes)),
          lower_case(cell.substr(open + 1, cell.size() - open - 2))};
}

// Returns the factor that converts a value with `unit` to the unit of the metric.
std::optional<double> factor(Metric metric, const std::string& unit) {
  struct Known {
    Metric metric;
    const char* unit;
    double factor;
  };
  static const Known kUnits[] = {
      {Metric::kMemoryUsed, "b", 1},
      {Metric::kMemoryUsed, "bytes", 1},
      {Metric::kMemoryUsed, "kib", 1024},
      {Metric::kMemoryUsed, "mib", 1024.0 * 1024},
      {Metric::kMemoryUsed, "gib", 1024.0 * 1024 * 1024},
      {Metric::kMemoryUsed, "mb", 1e6},
      {Metric::kUtilisation, "%", 1},
      {Metric::kTemperature, "c", 1},
      {Metric::kTemperature, "celsius", 1},
      {Metric::kTemperature, "celsius degree", 1},
      {Metric::kTemperature, "", 1},  // nvidia-smi prints no unit
      {Metric::kPower, "w", 1},
      {Metric::kPower, "mw", 0.001},
      {Metric::kClock, "mhz", 1},
      {Metric::kClock, "ghz", 1000},
      {Metric::kEccErrors, "", 1},
  };
  for (const auto& known : kUnits) {
    if (known.metric == metric && unit == known.unit) return known.factor;
  }
  return std::nullopt;
}

bool says_nothing(const std::string& cell) {
  const std::string word = lower_case(cell);
  for (const char* known : {"", "-", "n/a", "na", "[n/a]", "not supported", "[not supported]",
                            "[unknown error]", "[gpu is lost]", "err!"}) {
    if (word == known) return true;
  }
  return false;
}

// Translates nvidia-smi's bits of clock limits. An idle device and a requested clock do not count as limits.
std::optional<std::vector<std::string>> throttle_words(const std::string& cell) {
  if (!cell.starts_with("0x")) return std::nullopt;
  std::uint64_t flags = 0;
  const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), flags, 16);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  std::vector<std::string> words;
  const auto add = [&](std::uint64_t flag, const char* word) {
    if ((flags & flag) != 0) words.emplace_back(word);
  };
  add(0x4, "software_power_cap"), add(0x8, "hardware_slowdown"), add(0x20, "software_thermal_slowdown");
  add(0x40, "thermal_limit"), add(0x80, "power_brake");
  return words;
}

MetricReading missing(std::string reason) {
  MetricReading read;
  read.reason = std::move(reason);
  return read;
}

MetricReading read_cell(const std::string& cell, Metric metric, const std::string& header_unit,
                        const std::string& program) {
  if (says_nothing(cell)) return missing(fmt::format("{} says `{}`", program, cell));
  const std::string no_number = fmt::format("{} prints `{}`, which is not a number", program, cell);
  MetricReading read;
  read.source = program;
  if (metric == Metric::kThrottle) {
    auto words = throttle_words(cell);
    if (!words) return missing(no_number);
    read.words = *std::move(words);
    read.value = static_cast<double>(read.words.size());
    return read;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return missing(no_number);
  const std::string own_unit =
      lower_case(trimmed({end, static_cast<std::size_t>(cell.data() + cell.size() - end)}, kBlanksAndQuotes));
  const std::string& unit = own_unit.empty() ? header_unit : own_unit;
  const auto scale = factor(metric, unit);
  if (!scale) return missing(fmt::format("{} reports it in `{}`, an unknown unit", program, unit));
  read.value = value * *scale;
  return read;
}

// The positions of the columns.
struct Layout {
  std::vector<Header> headers;
  std::optional<std::size_t> key;
  std::vector<std::pair<Metric, std::optional<std::size_t>>> columns;

  std::optional<std::size_t> find(const std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < headers.size(); ++i) {
      if (std::find(names.begin(), names.end(), headers[i].name) != names.end()) return i;
    }
    return std::nullopt;
  }
};

Layout lay_out(const std::string& line, const ToolDialect& dialect) {
  Layout layout;
  for (const auto& cell : cells_of(line)) layout.headers.push_back(parse_header(cell));
  if (!dialect.key_column.empty()) layout.key = layout.find({dialect.key_column});
  for (const auto& column : dialect.columns)
    layout.columns.emplace_back(column.metric, layout.find(column.names));
  return layout;
}

ToolTable::Row read_row(const std::string& line, const Layout& layout, const ToolDialect& dialect) {
  const auto cells = cells_of(line);
  ToolTable::Row row{"", missing_sample(dialect.program + " does not offer it")};
  if (layout.key && *layout.key < cells.size()) row.key = cells[*layout.key];
  const bool whole = cells.size() == layout.headers.size();
  for (const auto& [metric, at] : layout.columns) {
    MetricReading& value = reading(row.values, metric);
    if (!at) {
      value = missing("its column is not in the table of " + dialect.program);
    } else if (!whole) {
      value = missing(fmt::format("a row of {} has {} cells under {} columns", dialect.program, cells.size(),
                                  layout.headers.size()));
    } else {
      value = read_cell(cells[*at], metric, layout.headers[*at].unit, dialect.program);
    }
  }
  return row;
}

}  // namespace

const ToolDialect& nvidia_smi() {
  static const ToolDialect dialect{
      "nvidia-smi",
      "uuid",
      {{Metric::kMemoryUsed, {"memory.used"}},
       {Metric::kUtilisation, {"utilization.gpu"}},
       {Metric::kTemperature, {"temperature.gpu"}},
       {Metric::kPower, {"power.draw"}},
       {Metric::kClock, {"clocks.current.sm", "clocks.sm"}},
       {Metric::kThrottle, {"clocks_throttle_reasons.active", "clocks_event_reasons.active"}},
       {Metric::kEccErrors, {"ecc.errors.uncorrected.volatile.total"}}}};
  return dialect;
}

const ToolDialect& xpu_smi() {
  static const ToolDialect dialect{
      "xpu-smi",
      "",
      {{Metric::kMemoryUsed, {"gpu memory used"}},
       {Metric::kUtilisation, {"gpu utilization", "average % utilization of all gpu engines"}},
       {Metric::kTemperature, {"gpu core temperature"}},
       {Metric::kPower, {"gpu power"}},
       {Metric::kClock, {"gpu frequency"}}}};
  return dialect;
}

Result<ToolTable> parse_tool_table(std::string_view text, const ToolDialect& dialect) {
  std::vector<std::string> lines;
  for (const auto line : lines_of(text)) {
    if (const auto words = trimmed(line, kBlanksAndQuotes); !words.empty()) lines.emplace_back(words);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Layout layout = lay_out(lines[i], dialect);
    const bool is_header = std::any_of(layout.columns.begin(), layout.columns.end(),
                                       [](const auto& column) { return column.second.has_value(); });
    if (!is_header) continue;  // tools may print warnings first
    if (!dialect.key_column.empty() && !layout.key)
      return Error::internal("find the column `" + dialect.key_column + "`: " + lines[i]);
    ToolTable table{.rows = {}, .unknown = {}, .header = lines[i]};
    for (const auto& [metric, at] : layout.columns) {
      if (!at) table.unknown.emplace_back(to_string(metric));
    }
    for (++i; i < lines.size(); ++i) table.rows.push_back(read_row(lines[i], layout, dialect));
    return table;
  }
  return Error::internal("find a known header: " + (lines.empty() ? "it printed nothing" : lines[0]));
}

namespace {

constexpr std::size_t kMaxTable = 1 << 20;

// Returns the tool's name of a device: "xpu:0000:03:00.0" -> "0000:03:00.0", "cuda:GPU-.." -> "GPU-..".
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

void ToolSampler::stop(std::function<void()> stopped) {
  on_sample_ = nullptr;
  if (!process_) return boost::asio::post(io_, std::move(stopped));
  stopped_ = std::move(stopped);
  process_->stop(SIGKILL, Milliseconds(0));
}

std::vector<std::string> ToolSampler::command() const {
  if (!dialect_.key_column.empty()) {
    return {dialect_.program,
            "--query-gpu=uuid,memory.used,utilization.gpu,temperature.gpu,power.draw,clocks.sm,"
            "clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total",
            "--format=csv"};
  }
  // Metrics: 0 utilisation, 1 power, 2 frequency, 3 core temperature, 18 memory used. "-n 1": one sample.
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
  if (stopped_) return stopped_();
  const auto& program = dialect_.program;
  if (end.spawn_error) {
    const bool absent = end.spawn_error->err == ENOENT;
    return give_up(std::nullopt, absent ? program + " is not on PATH" : program + " cannot be started");
  }
  if (end.cause == EndCause::kTimeout) {
    return give_up(WarningCode::kTelemetryTimeout, fmt::format("{} did not respond within {} and was killed",
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
  if (!table.unknown.empty() && !std::exchange(reported_unknown_, true)) {
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
  if (code) warnings_.push_back({*code, why + "; it is not queried again, and its values are missing"});
  answer(Error{ErrorKind::kSystem, why, "", 0});
}

void ToolSampler::answer(const Result<Sample>& sample) {
  if (const auto on_sample = std::exchange(on_sample_, nullptr)) on_sample(sample);
}

}  // namespace proctor
