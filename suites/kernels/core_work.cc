#include "suites/kernels/core_work.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "harness/base/digest.h"
#include "suites/kernels/device/cores.h"

namespace proctor::kernels {
namespace {

using Word = std::uint32_t;

CoreRow integers_of(const CoreSize& size) {
  CoreRow row;
  for (Word item = 0; item < CORE_ITEMS; ++item) {
    Word x = core_mix(size.seed + item), y = core_mix(x);
    for (Word round = 0; round < size.rounds; ++round) {
      const std::uint64_t product = std::uint64_t{x} * y;
      x = static_cast<Word>(product >> 32) ^ static_cast<Word>(product);
      y = y / ((x >> 16) | 1) + y % ((x & 0xffff) | 1);
      x = core_mix(x + y);
      y = core_mix(y ^ core_rotate(x, x >> 27));
    }
    row.push_back(x ^ y);
  }
  return row;
}

// Each step rounds once, because std::fma() rounds as a fused multiply-add does.
CoreRow products_of(const CoreSize& size) {
  constexpr Word kElements = CORE_EDGE * CORE_EDGE;
  std::array<float, kElements> a{}, b{};
  for (Word at = 0; at < kElements; ++at) {
    a[at] = core_number(core_mix(size.seed + at));
    b[at] = core_number(core_mix(~size.seed + at));
  }
  for (Word round = 0; round < size.rounds; ++round) {
    std::array<float, kElements> next{};
    for (Word at = 0; at < kElements; ++at) {
      float sum = 0;
      for (Word k = 0; k < CORE_EDGE; ++k) {
        sum = std::fma(a[at / CORE_EDGE * CORE_EDGE + k], b[k * CORE_EDGE + at % CORE_EDGE], sum);
      }
      next[at] = std::fma(sum, 0.25F, core_number(core_mix(size.seed ^ (round * 977 + at))));
    }
    a = next;
  }
  CoreRow row(CORE_ITEMS);
  for (Word at = 0; at < kElements; ++at) {
    Word& word = row[at % CORE_ITEMS];
    word = word * 31 + std::bit_cast<Word>(a[at]);
  }
  return row;
}

// Each result is exact, so the compiler of the host may fuse operations too.
CoreRow denormals_of(const CoreSize& size) {
  CoreRow row;
  for (Word item = 0; item < CORE_ITEMS; ++item) {
    Word state = core_mix(size.seed + item), word = 0;
    for (Word round = 0; round < size.rounds; ++round) {
      state = core_mix(state);
      const float product = static_cast<float>(1 + (state & 0xfff)) * 0x1p-140F;
      const float sum = product + std::bit_cast<float>(1 + (state >> 20));
      word = word * 31 + std::bit_cast<Word>(product);
      word = word * 31 + std::bit_cast<Word>(sum);
      word = word * 31 + (state >> 10);  // the difference
    }
    row.push_back(word);
  }
  return row;
}

CoreRow doubles_of(const CoreSize& size) {
  CoreRow row;
  for (Word item = 0; item < CORE_ITEMS; ++item) {
    Word state = core_mix(size.seed + item), word = 0;
    double x = 1.0 + static_cast<double>(state) * 0x1p-32;
    for (Word round = 0; round < size.rounds; ++round) {
      state = core_mix(state);
      const double y = 1.0 + static_cast<double>(state) * 0x1p-32;
      const double product = x * y, quotient = x / y, small = x * 0x1p-1040;
      x = std::fma(product, 0.25, y);
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) ^ std::bit_cast<std::uint64_t>(quotient) ^
                                 std::bit_cast<std::uint64_t>(small);
      word = (word * 31 + static_cast<Word>(bits >> 32)) * 31 + static_cast<Word>(bits);
    }
    row.push_back(word);
  }
  return row;
}

// Calls use(first) with the first lane of each sub-group.
template <typename Use>
void for_each_sub_group(Word lanes, const Use& use) {
  for (Word first = 0; first < CORE_ITEMS; first += lanes) use(first);
}

CoreRow lanes_of(const CoreSize& size) {
  CoreRow row;
  for (Word item = 0; item < CORE_ITEMS; ++item) row.push_back(core_mix(size.seed + item));
  for (Word round = 0; round < size.rounds; ++round) {
    for_each_sub_group(size.lanes, [&](Word first) {
      const auto change = [&](const auto& changed) {
        const CoreRow before = row;
        for (Word lane = 0; lane < size.lanes; ++lane)
          row[first + lane] = changed(before.data() + first, lane);
      };
      change([&](const Word* all, Word lane) { return all[lane] + all[(lane * 5 + round) % size.lanes]; });
      change([&](const Word* all, Word lane) {
        return core_mix(all[lane] ^ all[lane ^ (1 + round % (size.lanes - 1))]);
      });
      change([&](const Word* all, Word lane) {
        Word sum = all[lane];
        for (Word other = 0; other < size.lanes; ++other) sum += all[other];
        return sum;
      });
      change([&](const Word* all, Word lane) {
        Word sum = 0;
        for (Word other = 0; other <= lane; ++other) sum += all[other];
        return core_mix(all[lane] ^ sum);
      });
      change([&](const Word* all, Word lane) {
        const bool any = std::any_of(all, all + size.lanes, [](Word word) { return (word & 15) == 0; });
        return all[lane] + (any ? 1 : 2);
      });
    });
  }
  return row;
}

CoreRow local_of(const CoreSize& size) {
  std::array<Word, CORE_SLOTS> sums{};
  std::array<Word, CORE_WORDS> words{}, carried{};
  for (Word at = 0; at < CORE_WORDS; ++at) words[at] = core_mix(size.seed + at);
  for (Word round = 0; round < size.rounds; ++round) {
    for (Word at = 0; at < CORE_WORDS; ++at) {
      const Word item = at % CORE_ITEMS;
      carried[at] = words[(at - item + item * 37 + round) % CORE_WORDS];
      sums[carried[at] % CORE_SLOTS] += carried[at];
    }
    for (Word at = 0; at < CORE_WORDS; ++at) {
      words[at] = carried[at] + sums[(at % CORE_ITEMS + at / CORE_ITEMS) % CORE_SLOTS];
    }
  }
  CoreRow row;
  for (Word item = 0; item < CORE_ITEMS; ++item) row.push_back(sums[item % CORE_SLOTS]);
  for (Word at = 0; at < CORE_WORDS; ++at) row[at % CORE_ITEMS] = row[at % CORE_ITEMS] * 31 + words[at];
  return row;
}

}  // namespace

const std::vector<CoreWork>& core_works() {
  static const std::vector<CoreWork> works = {{"integers", "core_integers", &integers_of},
                                              {"products", "core_products", &products_of},
                                              {"denormals", "core_denormals", &denormals_of},
                                              {"doubles", "core_doubles", &doubles_of, "cores_f64"},
                                              {"sums", "core_sums", nullptr, "cores_f32_atomics"},
                                              {"functions", "core_functions", nullptr},
                                              {"lanes", "core_lanes", &lanes_of},
                                              {"local", "core_local", &local_of}};
  return works;
}

const CoreWork& core_work(const std::string& name) {
  return *std::ranges::find(core_works(), name, &CoreWork::name);
}

std::vector<std::string> core_work_names() {
  std::vector<std::string> names;
  for (const CoreWork& work : core_works()) names.push_back(work.name);
  return names;
}

std::optional<CoreRow> majority_of(const CoreRows& rows) {
  std::map<CoreRow, std::size_t> votes;
  for (const auto& [core, row] : rows) ++votes[row];
  for (const auto& [row, count] : votes) {
    if (2 * count > rows.size()) return row;
  }
  return {};
}

std::string digest_of(const CoreRows& rows) {
  std::set<CoreRow> different;
  for (const auto& [core, row] : rows) different.insert(row);
  Sha256 digest;
  for (const CoreRow& row : different) {
    digest.add({reinterpret_cast<const char*>(row.data()), row.size() * sizeof(Word)});
  }
  return digest.hex();
}

}  // namespace proctor::kernels
