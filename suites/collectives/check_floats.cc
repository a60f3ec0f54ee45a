// Checks sums of floating-point numbers that require rounding, and of NaN and infinity.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;
using suite::kInfo;
using suite::kWarn;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kOneResult =
    "NCCL user guide, ncclAllReduce: \"leaves identical copies of the result in each recvbuff\"; oneCCL "
    "specification, allreduce: \"distributes the result back to all ranks\"";
constexpr const char* kIeee = "IEEE 754, 6.1 and 6.2";

// Returns a number between 1 and 2 with all digits of its type, so that sums are rounded.
double fraction(int rank, std::size_t index) {
  const double x = std::sin(static_cast<double>(index) * 12.9898 + rank * 78.233) * 43758.5453;
  return 1 + (x - std::floor(x));
}

Bytes fractions(Type type, int rank, std::size_t count) {
  Bytes bytes(count * bytes_of(type));
  for (std::size_t i = 0; i < count; ++i) put_real(type, &bytes[i * bytes_of(type)], fraction(rank, i));
  return bytes;
}

Bytes reals(Type type, const std::vector<double>& values) {
  Bytes bytes(values.size() * bytes_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) put_real(type, &bytes[i * bytes_of(type)], values[i]);
  return bytes;
}

// Returns "NaN" for every NaN, otherwise the number.
std::string kind_of(double value) {
  if (std::isnan(value)) return "NaN";
  return fmt::format("{}", value);
}

// Returns the floating types that the library can reduce.
std::vector<Type> floats_of(const World& world, Reduction reduction = Reduction::kSum) {
  std::vector<Type> types;
  for (const Type type : {Type::kF16, Type::kBf16, Type::kF32, Type::kF64}) {
    if (world.supports(Operation::kAllReduce, type, reduction)) types.push_back(type);
  }
  return types;
}

}  // namespace

// If there is no cancellation: |error| <= eps log2(n) / (1 - eps log2(n)) |expected|. A NaN exceeds every
// bound.
PROCTOR_CHECK(FloatReduction, SumErrorIsWithinBound, "C04", kOneCclTests, kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  const std::size_t count = 500;
  for (const Type type : floats_of(world)) {
    const Bytes sum = world.result_of({.type = type, .count = count}, fractions(type, world.rank(), count));
    const double growth = epsilon_of(type) * std::log2(world.size());
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < world.size(); ++rank) inputs.push_back(fractions(type, rank, count));
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double exact = 0;
      for (const Bytes& input : inputs) exact += real_of(type, &input[i * bytes_of(type)]);
      const double bound = growth / (1 - growth) * exact;
      const double error = std::abs(real_of(type, &sum[i * bytes_of(type)]) - exact);
      worst = std::max(worst, error / bound);
      if (error <= bound) continue;
      suite::report({.message = fmt::format("{} sum {}: eps {} x log2({}), exact {}", to_string(type), i,
                                            epsilon_of(type), world.size(), exact),
                     .expected = fmt::format("an error of at most {}", bound),
                     .got = fmt::format("{}", error)});
      break;
    }
    suite::measure(fmt::format("{}_sum_error", to_string(type)), worst, "of bound", 500);
  }
}

// Five repetitions must have the same bits. Libraries do not guarantee this in general, but repeatable
// training requires it within one group.
PROCTOR_CHECK(FloatReduction, RepeatedSumIsBitIdentical, "C13", "project rule: Training must be repeatable.",
              kWarn, .faults = {"collective.wrong_rounding:api=all_reduce,after=2,times=1"},
              .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  world.need(Operation::kAllReduce, Type::kF32);
  const Bytes input = fractions(Type::kF32, world.rank(), 1021);
  const Bytes first = world.result_of({.type = Type::kF32, .count = 1021}, input);
  for (int again = 1; again < 5; ++again) {
    const Bytes next = world.result_of({.type = Type::kF32, .count = 1021, .round = again}, input);
    expect_elements("the same sum again", Type::kF32, first, next);
  }
}

// Ranks with different bits would diverge in later steps.
PROCTOR_CHECK(FloatReduction, EveryRankHasSameBits, "C14", kOneResult, kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce,dev=1"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  for (const Type type : floats_of(world)) {
    const Bytes sum = world.result_of({.type = type, .count = 1021}, fractions(type, world.rank(), 1021));
    world.expect_same_everywhere(std::string("sums of ") + to_string(type), sum);
  }
}

// One rank has a NaN or an infinity, and both have infinities without a defined sum. All other sums are
// unchanged.
PROCTOR_CHECK(FloatReduction, NanAndInfinityPropagate, "C05", kIeee, kGate,
              .faults = {"collective.dropped_contribution:api=all_reduce,dev=1"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  const std::vector<std::vector<double>> inputs{{1, 2, kInfinity, -kInfinity, kInfinity, 0},
                                                {2, kNan, 1, 1, -kInfinity, -0.0}};
  const std::vector<double> sums{3, kNan, kInfinity, -kInfinity, kNan, 0};
  for (const Type type : floats_of(world)) {
    const Bytes got = world.result_of({.type = type, .count = sums.size()},
                                      reals(type, inputs.at(static_cast<std::size_t>(world.rank()))));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      suite::expect_same(fmt::format("{} sum {}", to_string(type), i), kind_of(sums[i]),
                         kind_of(real_of(type, &got[i * bytes_of(type)])));
    }
  }
}

// No library defines the minimum of a number and a NaN. All ranks must have the same result. A result that
// hides the NaN is measured, because gradients that are checked after such a reduction look valid.
PROCTOR_CHECK(FloatReduction, NanMinMaxMatchesAcrossRanks, "C05", "IEEE 754, 9.6 (minimum, minimumNumber)",
              kInfo, .faults = {"collective.return_previous_result:api=all_reduce,dev=1"},
              .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  for (const Reduction reduction : {Reduction::kMin, Reduction::kMax}) {
    world.need(Operation::kAllReduce, Type::kF32, reduction);
    std::vector<double> values(4, 1 + world.rank());
    values[static_cast<std::size_t>(world.rank())] = kNan;  // element i of rank i is a NaN
    const Bytes got =
        world.result_of({.type = Type::kF32, .reduction = reduction, .count = 4}, reals(Type::kF32, values));
    world.expect_same_everywhere(to_string(reduction), got);
    double seen = 0;
    for (std::size_t i = 0; i < 4; ++i) seen += std::isnan(real_of(Type::kF32, &got[4 * i])) ? 1 : 0;
    suite::measure(fmt::format("{}_shows_nan", to_string(reduction)), seen, "of 4 ranks");
  }
}

// Four times 60000 exceeds the range of f16. The sum must be infinite. It must not wrap around or be the
// largest number.
PROCTOR_CHECK(HalfPrecision, OverflowingSumIsInfinite, "C44", "IEEE 754, 7.4 (overflow)", kGate,
              .faults = {"collective.return_previous_result:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  world.need(Operation::kAllReduce, Type::kF16);
  world.verify({.type = Type::kF16, .count = 2});
  const Bytes got =
      world.result_of({.type = Type::kF16, .count = 2, .round = 1}, reals(Type::kF16, {60000, -60000}));
  suite::expect_same("4 x 60000", kind_of(kInfinity), kind_of(real_of(Type::kF16, got.data())));
  suite::expect_same("4 x -60000", kind_of(-kInfinity), kind_of(real_of(Type::kF16, got.data() + 2)));
}

// From 2048 on, f16 cannot represent every integer. The sum 2048 + 1 + 1 + 1 shows how the library adds: 2052
// with wide sums, 2050 or 2048 if each step rounds. All ranks must have the same value of these.
PROCTOR_CHECK(HalfPrecision, RoundedSumHasAllowedValue, "C44", "IEEE 754, 4.3.1 (roundTiesToEven)", kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce,dev=1"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  world.need(Operation::kAllReduce, Type::kF16);
  const Bytes got =
      world.result_of({.type = Type::kF16, .count = 4},
                      reals(Type::kF16, {world.rank() == 0 ? 2048.0 : 1.0, fraction(world.rank(), 1),
                                         fraction(world.rank(), 2), fraction(world.rank(), 3)}));
  const double sum = real_of(Type::kF16, got.data());
  suite::measure("f16_2048_and_three_ones", sum, "");
  suite::expect_true(sum == 2048 || sum == 2050 || sum == 2052,
                     fmt::format("2048 + 1 + 1 + 1 = {} is 2048, 2050 or 2052", sum));
  world.expect_same_everywhere("sums that round", got);
}

}  // namespace proctor::collectives
