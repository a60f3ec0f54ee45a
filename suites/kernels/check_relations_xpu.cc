// The relations of floats, and choices by them, of every type and of vectors.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/functions_xpu.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kRelations =
    "OpenCL C specification, relational functions; SPIR-V specification, comparison instructions";

// In the order of relations.cl.
std::uint32_t relations_of(long double a, bool a_negative, bool a_normal, long double b, bool b_negative) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  const bool less = a < b;
  const bool greater = a > b;
  const bool equal = a == b;
  const bool relations[] = {equal,
                            !equal,
                            less,
                            less || equal,
                            greater,
                            greater || equal,
                            !less,
                            !(less || equal),
                            !greater,
                            !(greater || equal),
                            equal,
                            !equal,
                            less,
                            less || equal,
                            greater,
                            greater || equal,
                            less || greater,
                            !unordered,
                            unordered,
                            std::isnan(a),
                            std::isinf(a),
                            std::isfinite(a),
                            a_normal,
                            a_negative,
                            less || greater,
                            !(less || greater),
                            std::isnan(a) == b_negative,
                            std::isinf(a) && !std::isinf(b)};
  std::uint32_t bits = 0, bit = 1;
  for (const bool holds : relations) {
    if (holds) bits |= bit;
    bit <<= 1;
  }
  return bits;
}

template <typename T>
void expect_choices(Functions& functions, std::size_t lanes, const std::vector<T>& x,
                    const std::vector<T>& y) {
  using Bits = BitsOf<T>;
  std::vector<Bits> z(x.size()), a(x.size()), b(x.size()), expected;
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<Bits>(i % 3 == 0   ? 0
                             : i % 5 == 0 ? std::numeric_limits<Bits>::min()
                             : i % 7 == 0 ? std::numeric_limits<Bits>::max()
                                          : 0x55 - Bits(i));
    a[i] = std::bit_cast<Bits>(x[i]);
    b[i] = std::bit_cast<Bits>(y[i]);
  }
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back(number_of(x[i]) < number_of(y[i]) ? a[i] : b[i]);
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back(static_cast<Bits>((a[i] & ~z[i]) | (b[i] & z[i])));
  for (std::size_t i = 0; i < z.size(); ++i)
    expected.push_back((lanes > 1 ? z[i] < 0 : z[i] != 0) ? b[i] : a[i]);
  const auto got = functions.run<Bits>("choices", 3, std::vector{a, b, z});
  expect_values("a < b ? a : b, bitselect(a, b, c), select(a, b, c) of " + std::to_string(lanes) + " lanes",
                expected, got, functions.device());
  if (lanes == 1) return;
  const auto vectors = functions.run<std::int32_t>("lanes_that_are", 1, std::vector<std::vector<Bits>>{z});
  std::vector<std::int32_t> any_and_all;
  for (std::size_t i = 0; i < z.size() / lanes; ++i) {
    const auto first = z.begin() + static_cast<std::ptrdiff_t>(i * lanes);
    const auto negative =
        std::count_if(first, first + static_cast<std::ptrdiff_t>(lanes), [](Bits bits) { return bits < 0; });
    any_and_all.push_back((negative > 0 ? 1 : 0) | (static_cast<std::size_t>(negative) == lanes ? 2 : 0));
  }
  expect_values("any and all", any_and_all, part_of(vectors, 0, any_and_all.size()), functions.device());
}

// Every pair of what is special.
template <typename T>
void expect_relations(const Context& context, const std::string& type) {
  std::vector<T> x, y;
  const auto special = special_numbers<T>(keeps_denormals<T>(context.device()));
  for (const T a : special) {
    for (const T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  while (x.size() % 3 != 0) {
    x.push_back(special[2]);
    y.push_back(special[4]);
  }
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double a = number_of(x[i]), b = number_of(y[i]);
    const bool normal = std::isfinite(a) && std::fabs(a) >= std::ldexp(1.0L, kLowestExponent<T>);
    expected.push_back(relations_of(a, sign_of(x[i]), normal, b, sign_of(y[i])));
  }
  for (const std::size_t lanes : {1u, 3u}) {
    Functions functions(context, fmt::format("relations_{}_{}", type, lanes));
    step(fmt::format("given relations of {} with {} lanes", type, lanes));
    expect_words(fmt::format("relations of {} with {} lanes, a bit for each", type, lanes), expected,
                 functions.run<std::uint32_t>("relations", 1, std::vector{x, y}), context.device());
    expect_choices(functions, lanes, x, y);
  }
}

}  // namespace

PROCTOR_CHECK(Relation, OfFloatsAreExact, "K25", kRelations, kGate,
              {"kernel.wrong_result:kernel=relations,arg=2,at=37",
               "kernel.wrong_result:kernel=choices,arg=3,at=37",
               "kernel.wrong_result:kernel=lanes_that_are,arg=1,at=4"}) {
  expect_relations<float>(leased(), "f32");
}

PROCTOR_CHECK(Relation, OfDoublesAreExact, "K25", kRelations, kGate,
              .faults = {"kernel.wrong_result:kernel=relations,arg=2,at=37"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  expect_relations<double>(context, "f64");
}

PROCTOR_CHECK(Relation, OfHalvesAreExact, "K25", kRelations, kGate,
              .faults = {"kernel.wrong_result:kernel=relations,arg=2,at=37"}, .needs = {"fp16"}) {
  const auto context = leased();
  need(context.device().properties().fp16, "unsupported:fp16");
  expect_relations<std::uint16_t>(context, "f16");
}

}  // namespace proctor::accel
