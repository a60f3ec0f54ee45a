#include "harness/devices/masks/mask_cuda.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kGpu = "GPU-";
constexpr std::string_view kMig = "MIG-";
constexpr std::string_view kUuidShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

enum class EntryKind { kOrdinal, kGpuName, kMigName };

EntryKind kind_of(std::string_view text) {
  if (text.starts_with(kGpu)) return EntryKind::kGpuName;
  if (text.starts_with(kMig)) return EntryKind::kMigName;
  return EntryKind::kOrdinal;
}

std::string_view to_string(EntryKind kind) {
  switch (kind) {
    case EntryKind::kOrdinal:
      return "ordinals";
    case EntryKind::kGpuName:
      return "GPU- names";
    case EntryKind::kMigName:
      return "MIG- names";
  }
  return "";
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Returns true for the beginning of a UUID with at least one digit.
bool is_uuid_prefix(std::string_view text) {
  if (text.empty() || text.size() > kUuidShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kUuidShape[i] == '-' ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_uuid(std::string_view text) { return text.size() == kUuidShape.size() && is_uuid_prefix(text); }

// Returns true for MIG-UUID, or GPU-UUID/GPU-INSTANCE/COMPUTE-INSTANCE, the name in drivers before R470.
bool is_mig_name(std::string_view text) {
  text.remove_prefix(kMig.size());
  if (!text.starts_with(kGpu)) return is_uuid(text);
  text.remove_prefix(kGpu.size());
  const auto first = text.find('/');
  const auto second = text.find('/', std::min(first, text.size() - 1) + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  return is_uuid(text.substr(0, first)) && parse_ordinal(text.substr(first + 1, second - first - 1)) &&
         parse_ordinal(text.substr(second + 1));
}

std::string why_refused_by_cuda(std::string_view text) {
  switch (kind_of(text)) {
    case EntryKind::kGpuName:
      return is_uuid_prefix(text.substr(kGpu.size())) ? ""
                                                      : "is not GPU- and the hexadecimal digits of a UUID";
    case EntryKind::kMigName:
      return is_mig_name(text) ? "" : "is neither MIG-UUID nor MIG-GPU-UUID/N/M";
    case EntryKind::kOrdinal:
      break;
  }
  if (text == "-1" || parse_ordinal(text)) return {};
  if (is_uuid(text)) return "is a UUID without GPU- or MIG-";
  return why_not_ordinal(text);
}

std::string suggest_for_cuda(std::string_view value) {
  if (value == "*" || value == "all" || value == "any")
    return "For all devices leave CUDA_VISIBLE_DEVICES unset.";
  if (value == "none" || value == "void" || value == "NoDevFiles") {
    return "To hide every device set CUDA_VISIBLE_DEVICES to ''; '" + std::string(value) +
           "' is a value of container runtimes and batch systems.";
  }
  if (is_uuid(value)) return "Did you mean 'GPU-" + std::string(value) + "'?";
  const std::string upper =
      upper_case(value.substr(0, 3)) + std::string(value.substr(std::min<std::size_t>(3, value.size())));
  if (kind_of(upper) != EntryKind::kOrdinal && why_refused_by_cuda(upper).empty())
    return "Did you mean '" + upper + "'?";
  const std::string repaired = repair_ordinals(value);
  return repaired.empty() ? std::string() : "Did you mean '" + repaired + "'?";
}

// Parses leading decimal digits with an optional sign and ignores the tail. nullopt: the text has no number.
std::optional<std::int64_t> lenient_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    // Larger values are out of range anyway.
    value = std::min<std::int64_t>(value * 10 + (text[digits] - '0'), INT32_MAX);
  }
  if (digits == 0) return std::nullopt;
  return negative ? -value : value;
}

using Resolved = Result<CudaDevice>;  // an error has the reason why the entry names no device

Resolved resolve_ordinal(const MaskEntry& entry, const std::optional<CudaHost>& host) {
  const auto number = lenient_number(entry.text);
  if (!number) return Error::usage("is not a number");
  if (*number < 0) return Error::usage("is negative");
  if (host && *number >= host->devices) {
    return Error::usage("is out of range: there are " + std::to_string(host->devices) + " devices");
  }
  return CudaDevice{static_cast<int>(*number), {}};
}

Resolved resolve_name(const MaskEntry& entry, EntryKind kind, const std::optional<CudaHost>& host) {
  if (entry.padded) return Error::usage("has a space or tab next to it");
  const bool is_gpu = kind == EntryKind::kGpuName;
  const std::vector<std::string> none;
  const auto& names = !host ? none : is_gpu ? host->uuids : host->migs;
  if (names.empty()) return CudaDevice{std::nullopt, entry.text};
  std::vector<std::size_t> matches;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].starts_with(entry.text)) matches.push_back(i);
  }
  if (matches.empty()) return Error::usage("names no device here");
  if (matches.size() > 1) return Error::usage("names more than one device");
  if (is_gpu) return CudaDevice{static_cast<int>(matches[0]), {}};
  return CudaDevice{std::nullopt, names[matches[0]]};
}

Resolved resolve(const MaskEntry& entry, EntryKind list_kind, const std::optional<CudaHost>& host) {
  const EntryKind kind = kind_of(entry.text);
  if (kind != list_kind) return Error::usage("is in a list of " + std::string(to_string(list_kind)));
  return kind == EntryKind::kOrdinal ? resolve_ordinal(entry, host) : resolve_name(entry, kind, host);
}

// "-1" as the last entry hides no listed device, so it needs no warning.
void warn(std::string_view value, const CudaSelection& selection, std::vector<std::string>& warnings) {
  const auto entries = split_mask(value);
  if (selection.duplicate_at) {
    warnings.push_back(
        to_string(entries[*selection.duplicate_at - 1]) +
        " repeats a device: NVIDIA does not document the effect, and PyTorch's model of the driver hides "
        "every device");
  }
  if (!selection.ended_at) return;
  const MaskEntry& last = entries[*selection.ended_at - 1];
  const std::size_t after = entries.size() - *selection.ended_at;
  if (last.text == "-1" && after == 0) return;
  std::string text = to_string(last) + " " + selection.ended_why + " and ends the list";
  if (after > 0) {
    text += ": " + std::to_string(after) + (after == 1 ? " entry" : " entries") + " after it hidden (" +
            in_quotes(value.substr(entries[*selection.ended_at].column - 1)) + ")";
  }
  warnings.push_back(std::move(text));
}

std::string on(const std::optional<CudaHost>& host) {
  return host ? " on " + std::to_string(host->devices) + (host->devices == 1 ? " device" : " devices")
              : std::string();
}

}  // namespace

CudaSelection select_cuda(std::optional<std::string_view> value, const std::optional<CudaHost>& host) {
  CudaSelection selection;
  if (!value) {
    for (int i = 0; host && i < host->devices; ++i) selection.devices.push_back({i, {}});
    return selection;
  }
  if (value->empty()) return selection;
  const auto entries = split_mask(*value);
  const EntryKind list_kind = kind_of(entries.front().text);
  for (const MaskEntry& entry : entries) {
    const Resolved device = resolve(entry, list_kind, host);
    if (!device) {
      selection.ended_at = entry.number;
      selection.ended_why = device.error().what;
      return selection;
    }
    if (std::find(selection.devices.begin(), selection.devices.end(), *device) != selection.devices.end()) {
      selection.devices.clear();
      selection.duplicate_at = entry.number;
      return selection;
    }
    selection.devices.push_back(*device);
  }
  return selection;
}

std::string to_string(const std::vector<CudaDevice>& devices) {
  std::string text;
  for (const CudaDevice& device : devices) {
    if (!text.empty()) text += ' ';
    text += device.ordinal ? std::to_string(*device.ordinal) : device.name;
  }
  return text.empty() ? "nothing" : text;
}

MaskLint lint_cuda_mask(std::string_view value, const std::optional<CudaHost>& host) {
  MaskLint lint;
  const CudaSelection selection = select_cuda(value, host);
  if (value.empty()) {
    lint.meaning = "hides every device: CUDA_VISIBLE_DEVICES is set and names none";
    return lint;
  }
  for (const MaskEntry& entry : split_mask(value)) {
    if (auto why = why_refused_by_cuda(entry.text); !why.empty())
      lint.refusals.push_back({entry, std::move(why)});
  }
  if (!lint.accepted()) {
    lint.driver.push_back(
        "PyTorch's model of it selects " + to_string(selection.devices) + on(host) +
        "; NVIDIA's guide only specifies that an invalid entry hides itself and all after it");
    lint.suggestion = suggest_for_cuda(value);
    return lint;
  }
  warn(value, selection, lint.warnings);
  lint.meaning = "selects " + to_string(selection.devices) + on(host) + ", in this order";
  if (selection.devices.empty()) lint.meaning = "hides every device" + on(host);
  return lint;
}

}  // namespace proctor
