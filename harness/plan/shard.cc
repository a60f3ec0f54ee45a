#include "harness/plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

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

}  // namespace proctor
