// Which part of a plan one of several machines runs. Every machine decides this alone, from the ids and the
// number of shards, so nobody has to hand out work. If a shard is added, cases move only to the new one.
//
// Rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
// 1998): each shard has a weight for each id, and the shard with the largest weight has the case. The weight
// of shard K is FNV-1a (64 bits) of the id, mixed with K by the finaliser of SplitMix64. It never changes: a
// shard that is run again has the same cases.
//
// A balanced plan (balance.h) is the exception: each of its cases has its shard, under the digest of the plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

struct Shard {
  int index = 1;  // 1..count
  int count = 1;

  friend bool operator==(const Shard&, const Shard&) = default;
};

inline constexpr int kMostShards = 10'000;

// "2/4". A usage error names the value.
Result<Shard> parse_shard(std::string_view text);

// A number without sign or blanks, as shards are written.
std::optional<int> shard_number(std::string_view text);

// FNV-1a of the id, mixed by the finaliser of SplitMix64.
std::uint64_t id_hash(std::string_view id);

// The shard that has the case, 1..count.
int shard_of(std::string_view id, int count);

// Keeps only the cases of one shard, in their order. A plan that is balanced for another number of shards is refused.
Result<void> keep_shard(const Shard& shard, Plan& plan);

}  // namespace proctor
