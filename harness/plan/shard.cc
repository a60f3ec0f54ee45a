#include "harness/plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "harness/plan/plan.h"

namespace proctor {
namespace {

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

std::optional<int> shard_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return digits && error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                            : std::nullopt;
}

Result<Shard> parse_shard(std::string_view text) {
  const std::string hint = "Write K/N with K from 1 to N, e.g. 2/4, or auto.";
  const std::size_t slash = text.find('/');
  const auto index = shard_number(text.substr(0, slash));
  const auto count = slash == text.npos ? std::nullopt : shard_number(text.substr(slash + 1));
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

std::uint64_t id_hash(std::string_view id) { return mix(fnv1a(id)); }

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

Result<void> keep_shard(const Shard& shard, Plan& plan) {
  if (shard.count == 1) return {};
  if (plan.shards != 0 && plan.shards != shard.count) {
    return Error::refused(
        fmt::format("--shard {}/{}: the plan is balanced for {} shards", shard.index, shard.count,
                    plan.shards),
        fmt::format("Write a plan for {} shards: proctor plan --shards {}", shard.count, shard.count));
  }
  std::erase_if(plan.cases, [&](const Case& test) {
    return (plan.shards != 0 ? test.shard : shard_of(test.id, shard.count)) != shard.index;
  });
  return {};
}

namespace {

struct TimedCase {
  double ms;
  Case* test;
};

}  // namespace

Balance balance_shards(Plan& plan, int count, const std::map<std::string, double>& durations) {
  Balance balance;
  const ExpectedDurations expected(plan, durations);
  std::vector<TimedCase> cases;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    balance.unknown += durations.contains(plan.cases[i].id) ? 0 : 1;
    cases.push_back({expected.of(i), &plan.cases[i]});
  }
  std::ranges::sort(cases, [](const TimedCase& a, const TimedCase& b) {
    return std::tie(b.ms, a.test->id) < std::tie(a.ms, b.test->id);
  });

  // If two shards have equal totals, the one with fewer cases is next. Otherwise all cases without a duration
  // would go to the first shard.
  using Load = std::tuple<double, std::size_t, int>;  // ms, cases, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int shard = 1; shard <= count; ++shard) least.emplace(0.0, 0, shard);
  balance.shard_ms.resize(static_cast<std::size_t>(count));
  for (const TimedCase& next : cases) {
    auto [ms, taken, shard] = least.top();
    least.pop();
    next.test->shard = shard;
    least.emplace(ms + next.ms, taken + 1, shard);
    balance.shard_ms[static_cast<std::size_t>(shard - 1)] += next.ms;
  }
  plan.shards = count;
  return balance;
}

namespace {

using Environment = std::map<std::string, std::string>;

constexpr const char* kSlurmTask = "SLURM_ARRAY_TASK_ID";
constexpr const char* kSlurmStep = "SLURM_STEP_ID";
constexpr const char* kSlurmRank = "SLURM_PROCID";

const std::string* find(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Result<int> number_of(const Environment& environment, const char* name, const char* with) {
  const std::string* text = find(environment, name);
  if (text == nullptr) {
    return Error::refused(fmt::format("--shard auto needs {}, because {} is set", name, with));
  }
  const auto number = shard_number(*text);
  if (!number) return Error::refused(fmt::format("--shard auto: {} must be a number (got {})", name, *text));
  return *number;
}

Result<Shard> checked(int index, int count, const std::string& source) {
  if (index >= 1 && index <= count && count <= kMostShards) return Shard{index, count};
  return Error::refused(
      fmt::format("--shard auto: {} is shard {} of {}, which does not exist", source, index, count));
}

// The values that all tasks of a Slurm array share. The task ids are first, first + step, ... last.
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

// The check for gaps does not use the id of the task itself. Therefore either all tasks have a shard, or
// none.
Result<Shard> slurm_array_shard(const Environment& environment) {
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

// The names of an index and a count variable, which most schedulers set.
struct IndexAndCount {
  const char* index;
  const char* count;
  int first;  // index of the first task
};

Result<Shard> indexed_shard(const Environment& environment, const IndexAndCount& names) {
  const auto index = number_of(environment, names.index, names.index);
  if (!index) return index.error();
  const auto count = number_of(environment, names.count, names.index);
  if (!count) return count.error();
  return checked(*index - names.first + 1, *count, fmt::format("{}={}", names.index, *index));
}

// A batch script runs as task 0 of the tasks that it requested. No other task runs, so their shards would be
// lost.
Result<Shard> slurm_step_shard(const Environment& environment) {
  if (find(environment, kSlurmStep) != nullptr)
    return indexed_shard(environment, {kSlurmRank, "SLURM_STEP_NUM_TASKS", 0});
  const std::string* tasks = find(environment, "SLURM_NTASKS");
  if (tasks == nullptr || *tasks == "1") return Shard{};
  return Error::refused(
      fmt::format("--shard auto: SLURM_NTASKS={}, but this is the batch script and not one of the tasks",
                  *tasks),
      "Start the tasks from it: srun proctor run --shard auto ...");
}

struct Scheduler {
  const char* variable;  // set if the scheduler started the process
  Result<Shard> (*shard)(const Environment& environment);
};

constexpr Scheduler kSchedulers[] = {
    {kSlurmTask, slurm_array_shard},
    {kSlurmRank, slurm_step_shard},
    {"JOB_COMPLETION_INDEX",
     [](const Environment& environment) {
       return indexed_shard(environment, {"JOB_COMPLETION_INDEX", "PROCTOR_SHARD_COUNT", 0});
     }},
    {"CI_NODE_INDEX",
     [](const Environment& environment) {
       return indexed_shard(environment, {"CI_NODE_INDEX", "CI_NODE_TOTAL", 1});
     }},
    {"BUILDKITE_PARALLEL_JOB",
     [](const Environment& environment) {
       return indexed_shard(environment, {"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0});
     }},
    {"CIRCLE_NODE_INDEX",
     [](const Environment& environment) {
       return indexed_shard(environment, {"CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0});
     }},
};

struct Said {
  const char* variable;
  Shard shard;
};

std::string in_words(const Said& said) {
  return fmt::format("{} says {}/{}", said.variable, said.shard.index, said.shard.count);
}

}  // namespace

Result<Shard> shard_of_environment(const Environment& environment) {
  if (const std::string* text = find(environment, "PROCTOR_SHARD")) {
    auto shard = parse_shard(*text);
    if (shard) return shard;
    return Error::refused("--shard auto: PROCTOR_SHARD: " + shard.error().what,
                          "Write K/N, for example 2/4.");
  }
  std::optional<Said> found;
  for (const Scheduler& scheduler : kSchedulers) {
    if (find(environment, scheduler.variable) == nullptr) continue;
    const auto shard = scheduler.shard(environment);
    if (!shard) return shard.error();
    const Said said{scheduler.variable, *shard};
    if (found && found->shard.count > 1 && shard->count > 1) {
      return Error::refused(fmt::format("--shard auto: {}, but {}", in_words(*found), in_words(said)),
                            "Set PROCTOR_SHARD=K/N to select one.");
    }
    if (!found || shard->count > 1) found = said;
  }
  if (found) return found->shard;
  return Error::refused(
      "--shard auto needs PROCTOR_SHARD, or the variables of Slurm, Kubernetes, GitLab, Buildkite or "
      "CircleCI",
      "Write --shard K/N, or set PROCTOR_SHARD=K/N.");
}

}  // namespace proctor
