#include "harness/runner/machine/slurm_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "harness/base/surroundings.h"

namespace proctor {
namespace {

constexpr const char* kCount = "SLURM_GPUS_ON_NODE";
constexpr const char* kStep = "SLURM_STEP_ID";
constexpr const char* kJob = "SLURM_JOB_ID";
constexpr const char* kStepNumbers = "SLURM_STEP_GPUS";
constexpr const char* kJobNumbers = "SLURM_JOB_GPUS";

std::string slurm_said(const Environment& caller, const char* name) {
  const auto found = caller.find(name);
  return found == caller.end() ? std::string() : found->second;
}

std::optional<std::size_t> slurm_count(const Environment& caller) {
  const std::string text = slurm_said(caller, kCount);
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return count;
}

std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    entries.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return entries;
}

// A batch script has the numbers of the job, a step has separate numbers.
const char* numbers_variable(const Environment& caller) {
  return slurm_said(caller, kStep).empty() ? kJobNumbers : kStepNumbers;
}

std::string leased_ids(const FoundDevices& devices) {
  std::string text;
  for (const PoolDevice& entry : devices.pool) text += (text.empty() ? "" : ", ") + entry.device.id;
  return text;
}

// Returns for example "CUDA_VISIBLE_DEVICES=0 and ZE_AFFINITY_MASK=0", or "no mask".
std::string masks_in_words(const FoundDevices& devices, const Environment& caller) {
  std::string text;
  for (const Backend backend : {Backend::kCuda, Backend::kXpu}) {
    const bool used = std::ranges::any_of(
        devices.pool, [&](const PoolDevice& entry) { return entry.device.backend == to_string(backend); });
    const auto mask = caller_mask(backend, caller);
    if (used && mask)
      text += fmt::format("{}{}={}", text.empty() ? "" : " and ", mask_variable(backend), *mask);
  }
  return text.empty() ? "no mask" : text;
}

// Returns whether the process is in a step without any device of its job. Slurm sets no mask in such a step.
bool has_none(const Environment& caller) {
  if (caller_mask(Backend::kCuda, caller) || caller_mask(Backend::kXpu, caller)) return false;
  return !slurm_said(caller, kStep).empty() && !slurm_said(caller, kJobNumbers).empty() &&
         slurm_said(caller, kStepNumbers).empty() && !slurm_count(caller);
}

Result<void> check_count(const FoundDevices& devices, const Environment& caller, std::size_t count) {
  if (devices.pool.size() <= count) return {};
  return Error::refused(
      fmt::format("the Slurm job has {}={} on this node, but {} leaves {} devices: {}", kCount, count,
                  masks_in_words(devices, caller), devices.pool.size(), leased_ids(devices)),
      "Set the mask that Slurm set. Where a node has devices of both vendors, hide one of them, as with "
      "CUDA_VISIBLE_DEVICES='', or set Flags=nvidia_gpu_env or intel_gpu_env in gres.conf.");
}

// Checks the ordinals of the mask. If only devices of the job are visible, a cgroup may have renumbered them, so they
// are not checked.
Result<void> check_numbers(const WatchedDevices& watched, const Environment& caller, std::size_t count) {
  const auto mask = caller_mask(watched.backend, caller);
  const char* variable = numbers_variable(caller);
  const std::vector<std::string> numbers = entries_of(slurm_said(caller, variable));
  if (!mask || numbers.empty() || watched.ids.size() <= count) return {};
  for (const std::string& entry : entries_of(*mask)) {
    const bool is_ordinal = !entry.empty() && entry.find_first_not_of("0123456789") == entry.npos;
    if (!is_ordinal || std::ranges::find(numbers, entry) != numbers.end()) continue;
    return Error::refused(
        fmt::format("{}={} names device {}, but the Slurm job has {}={}", mask_variable(watched.backend),
                    *mask, entry, variable, slurm_said(caller, variable)),
        "Set the mask that Slurm set, or less of it.");
  }
  return {};
}

}  // namespace

Result<void> check_slurm_allocation(const FoundDevices& devices, const Environment& caller) {
  if (!slurm_job_of(caller) || devices.pool.empty()) return {};
  if (has_none(caller)) {
    return Error::refused(
        fmt::format("the Slurm step has no device: its job has {}={}, but {} is not set", kJobNumbers,
                    slurm_said(caller, kJobNumbers), kStepNumbers),
        "Give the step devices, as with srun --gres=gpu:1, or run only cases that need none.");
  }
  const auto count = slurm_count(caller);
  if (!count) return {};
  for (const WatchedDevices& watched : devices.watched) {
    if (auto checked = check_numbers(watched, caller, *count); !checked) return checked;
  }
  return check_count(devices, caller, *count);
}

bool slurm_masks_both_vendors(const Environment& caller) {
  const auto names_any = [&](Backend backend) { return !caller_mask(backend, caller).value_or("").empty(); };
  return slurm_job_of(caller) && slurm_count(caller) && names_any(Backend::kCuda) && names_any(Backend::kXpu);
}

bool slurm_gave_no_device(const Environment& caller) {
  const bool numbers =
      std::ranges::any_of(std::array{kCount, kStepNumbers, kJobNumbers},
                          [&](const char* name) { return !slurm_said(caller, name).empty(); });
  return !slurm_said(caller, kJob).empty() && !numbers;
}

}  // namespace proctor
