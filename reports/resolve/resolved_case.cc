#include "reports/resolve/resolved_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

const Verdict kNoEnd{Outcome::kNotrun, Reason::kInterrupted};

}  // namespace

std::vector<EnvironmentVariable> Attempt::environment() const {
  return unpack_environment(packed_environment, common->words);
}

TelemetryInfo Attempt::telemetry() const { return unpack_telemetry(packed_telemetry, common->words); }

std::vector<const PlannedDevice*> Attempt::devices() const {
  std::vector<const PlannedDevice*> known;
  for (const std::string& id : start.devices) {
    const auto device = std::ranges::find(common->devices, id, &PlannedDevice::id);
    if (device != common->devices.end()) known.push_back(&*device);
  }
  return known;
}

const Verdict& verdict_of(const Attempt& attempt) { return attempt.end ? attempt.end->verdict : kNoEnd; }

bool is_suspect(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kDeviceSuspect);
}

bool is_unproven(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kUnconfirmed);
}

bool counts(const Attempt& attempt) { return !is_suspect(attempt) && !is_unproven(attempt); }

bool passed_after_retry(const Attempt& attempt) {
  return attempt.end && has_mark(attempt.end->marks, Mark::kFlaky);
}

bool is_proven(const ResolvedCase& test) { return test.verdict.outcome != Outcome::kNotrun; }

int attempt_count(const ResolvedCase& test) {
  return static_cast<int>(std::ranges::count_if(test.attempts, [](const Attempt& attempt) {
    return !attempt.confirmed_alone && !is_unproven(attempt);
  }));
}

std::string telling_devices(const ResolvedCase& test) {
  return test.telling == nullptr ? "" : joined(test.telling->start.devices, "+");
}

const std::string& message_line(const ResolvedCase& test) {
  return test.flaky && test.telling != nullptr ? test.telling->headline : test.headline;
}

// See the header: a word with control characters, or bytes that are not UTF-8, needs a shell with $'...', such as bash.
std::string quoted_word(const std::string& word) {
  if (clean_text(word) == word) return shell_quote(word);
  std::string text = "$'";
  for (const char byte : word) {
    const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != '\'';
    text += is_plain ? std::string(1, byte) : fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
  }
  return text + '\'';
}

std::string RerunLine::of(const std::string& case_id) const {
  return after ? before + quoted_word(case_id) + *after : before;
}

std::string_view to_string(Suspect suspect) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "code", "device", "unclear"};
  return kNames[static_cast<std::size_t>(suspect)];
}

namespace {

using Figure = std::optional<double>;
constexpr std::array kFigures = {&TelemetryFigure::first, &TelemetryFigure::last, &TelemetryFigure::mean,
                                 &TelemetryFigure::peak, &TelemetryFigure::delta};

// Encodes values for pack().
class Packer {
 public:
  explicit Packer(PackedWords& words) : words_(words) {}

  // Seven bits in each byte, the lowest first, because nearly every number is small.
  void add(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) packed_ += static_cast<char>(number | 0x80);
    packed_ += static_cast<char>(number);
  }
  void add(const std::string& word) { add(words_.number_of(word)); }
  void add(double number) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    packed_.append(bytes.data(), bytes.size());
  }
  template <typename T>
  void add(const std::vector<T>& items) {
    add(static_cast<std::uint64_t>(items.size()));
    for (const T& item : items) add(item);
  }
  void add(const TelemetryFigure& figure) {
    add(figure.name);
    add(figure.unit);
    add(figure.source);
    add(static_cast<std::uint64_t>(figure.samples));
    std::uint64_t there = 0;
    for (std::size_t i = 0; i < kFigures.size(); ++i)
      there |= std::uint64_t{(figure.*kFigures[i]).has_value()} << i;
    add(there);
    for (const auto member : kFigures) {
      if (figure.*member) add(*(figure.*member));
    }
    add(figure.seen);
    add(figure.note);
  }
  void add(const DeviceTelemetry& telemetry) {
    add(telemetry.device);
    add(telemetry.figures);
  }
  void add(const EnvironmentVariable& variable) {
    add(variable.name);
    add(std::uint64_t{variable.value.has_value()});
    if (variable.value) add(*variable.value);
    add(variable.by);
  }

  std::string packed() && {
    packed_.shrink_to_fit();
    return std::move(packed_);
  }

 private:
  PackedWords& words_;
  std::string packed_;
};

// Decodes the result of pack().
class Unpacker {
 public:
  Unpacker(std::string_view packed, const PackedWords& words) : left_(packed), words_(words) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
  }
  const std::string& word() { return words_.word(number()); }
  double real() {
    double value = 0;
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  TelemetryFigure figure() {
    TelemetryFigure figure;
    figure.name = word();
    figure.unit = word();
    figure.source = word();
    figure.samples = static_cast<std::int64_t>(number());
    const std::uint64_t there = number();
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      if ((there >> i & 1) != 0) figure.*kFigures[i] = real();
    }
    for (std::uint64_t left = number(); left > 0; --left) figure.seen.push_back(word());
    figure.note = word();
    return figure;
  }
  std::vector<TelemetryFigure> figures() {
    std::vector<TelemetryFigure> figures(number());
    for (TelemetryFigure& each : figures) each = figure();
    return figures;
  }

 private:
  std::string_view left_;
  const PackedWords& words_;
};

}  // namespace

std::uint64_t PackedWords::number_of(const std::string& word) {
  if (const auto found = numbers_.find(word); found != numbers_.end()) return found->second;
  words_.push_back(std::make_shared<const std::string>(word));
  numbers_.emplace(*words_.back(), words_.size() - 1);
  return words_.size() - 1;
}

std::string pack(const TelemetryInfo& telemetry, PackedWords& words) {
  if (telemetry.host.empty() && telemetry.devices.empty()) return {};
  Packer packer(words);
  packer.add(telemetry.host);
  packer.add(telemetry.devices);
  return std::move(packer).packed();
}

std::string pack(const std::vector<EnvironmentVariable>& environment, PackedWords& words) {
  if (environment.empty()) return {};
  Packer packer(words);
  packer.add(environment);
  return std::move(packer).packed();
}

TelemetryInfo unpack_telemetry(std::string_view packed, const PackedWords& words) {
  TelemetryInfo telemetry;
  if (packed.empty()) return telemetry;
  Unpacker unpacker(packed, words);
  telemetry.host = unpacker.figures();
  telemetry.devices.resize(unpacker.number());
  for (DeviceTelemetry& device : telemetry.devices) {
    device.device = unpacker.word();
    device.figures = unpacker.figures();
  }
  return telemetry;
}

std::vector<EnvironmentVariable> unpack_environment(std::string_view packed, const PackedWords& words) {
  if (packed.empty()) return {};
  Unpacker unpacker(packed, words);
  std::vector<EnvironmentVariable> environment(unpacker.number());
  for (EnvironmentVariable& variable : environment) {
    variable.name = unpacker.word();
    if (unpacker.number() != 0) variable.value = unpacker.word();
    variable.by = unpacker.word();
  }
  return environment;
}

}  // namespace proctor
