#include "harness/plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace proctor {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr const char* kSlurmTask = "SLURM_ARRAY_TASK_ID";

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits && error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                            : std::nullopt;
}

const std::string* find(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Result<int> number_of(const Environment& environment, const char* name, const char* with) {
  const std::string* text = find(environment, name);
  if (text == nullptr) {
    return Error::refused(fmt::format("--shard auto needs {}, because {} is set", name, with));
  }
  const auto number = parse_number(*text);
  if (!number) return Error::refused(fmt::format("--shard auto: {} must be a number (got {})", name, *text));
  return *number;
}

Result<Shard> checked(int index, int count, const std::string& source) {
  if (index >= 1 && index <= count && count <= kMostShards) return Shard{index, count};
  return Error::refused(
      fmt::format("--shard auto: {} is shard {} of {}, which does not exist", source, index, count));
}

// What every task of a Slurm array is told alike. Its tasks are numbered first, first + step, ... last.
struct SlurmArray {
  int first = 0;
  int last = 0;
  int step = 1;
  int count = 0;

  bool is_dense() const {
    return last >= first && (last - first) % step == 0 && (last - first) / step + 1 == count;
  }
  bool has(int id) const { return id >= first && id <= last && (id - first) % step == 0; }
};

Result<SlurmArray> read_slurm_array(const Environment& environment) {
  SlurmArray array;
  for (const auto& [name, number] : {std::pair<const char*, int*>{"SLURM_ARRAY_TASK_MIN", &array.first},
                                     {"SLURM_ARRAY_TASK_MAX", &array.last},
                                     {"SLURM_ARRAY_TASK_COUNT", &array.count},
                                     {"SLURM_ARRAY_TASK_STEP", &array.step}}) {
    if (number == &array.step && find(environment, name) == nullptr) continue;
    const auto value = number_of(environment, name, kSlurmTask);
    if (!value) return value.error();
    *number = *value;
  }
  if (array.step > 0) return array;
  return Error::refused("--shard auto: SLURM_ARRAY_TASK_STEP must be greater than zero (got 0)");
}

// Whether the array has gaps is decided without the task's own number: either all
// tasks have a shard, or none.
Result<Shard> slurm_shard(const Environment& environment) {
  const auto array = read_slurm_array(environment);
  if (!array) return array.error();
  const auto id = number_of(environment, kSlurmTask, kSlurmTask);
  if (!id) return id.error();
  const std::string tasks = fmt::format("the Slurm array has {} tasks, numbered from {} to {} in steps of {}",
                                        array->count, array->first, array->last, array->step);
  if (!array->is_dense()) {
    return Error::refused(fmt::format("--shard auto: {} has gaps", tasks),
                          "Number the tasks without gaps (sbatch --array=1-4), or use --shard K/N.");
  }
  if (!array->has(*id)) {
    return Error::refused(fmt::format("--shard auto: {} does not contain {}={}", tasks, kSlurmTask, *id));
  }
  return checked((*id - array->first) / array->step + 1, array->count, fmt::format("{}={}", kSlurmTask, *id));
}

Result<Shard> kubernetes_shard(const Environment& environment) {
  constexpr const char* kIndex = "JOB_COMPLETION_INDEX";
  const auto index = number_of(environment, kIndex, kIndex);
  if (!index) return index.error();
  const auto count = number_of(environment, "PROCTOR_SHARD_COUNT", kIndex);
  if (!count) return count.error();
  return checked(*index + 1, *count, fmt::format("{}={}", kIndex, *index));
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::string hint = "Write K/N with K from 1 to N, e.g. 2/4, or auto.";
  const std::size_t slash = text.find('/');
  const auto index = parse_number(text.substr(0, slash));
  const auto count = slash == text.npos ? std::nullopt : parse_number(text.substr(slash + 1));
  if (!index || !count)
    return Error::refused(fmt::format("--shard must be K/N or auto (got {})", text), hint);
  if (*count < 1 || *count > kMostShards) {
    return Error::refused(fmt::format("--shard {}: N must be from 1 to {}", text, kMostShards), hint);
  }
  if (*index < 1 || *index > *count) {
    return Error::refused(fmt::format("--shard {}: K must be from 1 to {}", text, *count), hint);
  }
  return Shard{*index, *count};
}

Result<Shard> shard_of_environment(const Environment& environment) {
  if (const std::string* text = find(environment, "PROCTOR_SHARD")) {
    auto shard = parse_shard(*text);
    if (shard) return shard;
    return Error::refused("--shard auto: PROCTOR_SHARD: " + shard.error().what,
                          "Write K/N, for example 2/4.");
  }
  if (find(environment, kSlurmTask) != nullptr) return slurm_shard(environment);
  if (find(environment, "JOB_COMPLETION_INDEX") != nullptr) return kubernetes_shard(environment);
  return Error::refused("--shard auto needs PROCTOR_SHARD, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
                        "Write --shard K/N, or set PROCTOR_SHARD=K/N.");
}

int shard_of(std::string_view id, int count) {
  const std::uint64_t hash = fnv1a(id);
  int heaviest = 1;
  std::uint64_t most = 0;
  for (int shard = 1; shard <= count; ++shard) {
    const std::uint64_t weight = mix(hash + static_cast<std::uint64_t>(shard) * 0x9e3779b97f4a7c15);
    if (shard > 1 && weight <= most) continue;
    heaviest = shard;
    most = weight;
  }
  return heaviest;
}

void keep_shard(const Shard& shard, Plan& plan) {
  std::erase_if(plan.cases, [&](const Case& test) { return shard_of(test.id, shard.count) != shard.index; });
}

}  // namespace proctor
