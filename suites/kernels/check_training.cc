// Checks of training a small transformer: embedding, attention, perceptron, loss, backward pass, and an update
// with momentum. A device must compute the same bits in each run, and the results of the host in double precision
// within a tolerance.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "harness/base/digest.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"
#include "suites/main/stopwatch.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

// The operations as functions of the host. They use implicit conversions, as C does.
namespace host_training {
using uint = std::uint32_t;
using real = double;
using std::exp;
using std::log;
using std::sqrt;
#define GLOBAL
#define TRAIN_FUNCTION static inline
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "suites/kernels/device/training.h"
#pragma GCC diagnostic pop
#undef TRAIN_FUNCTION
#undef GLOBAL

using Operation = void (*)(uint, const real*, const real*, const real*, real*, uint, uint, uint);
const std::map<std::string, Operation> kOperations = {
#define NAMED_OPERATION(name) {#name, &name},
    TRAIN_OPERATIONS(NAMED_OPERATION)
#undef NAMED_OPERATION
};
}  // namespace host_training

struct ModelShape {
  std::uint32_t positions, columns, heads, hidden, tokens;
};
constexpr ModelShape kSmallModel = {16, 32, 2, 64, 32};
constexpr ModelShape kLargeModel = {64, 128, 4, 512, 128};
constexpr const char* kRepeatable =
    "Hochschild et al., Cores that don't count (HotOS 2021); Higham, Accuracy and Stability of Numerical "
    "Algorithms, lemma 3.1";
constexpr double kTolerance = 1e-3;     // tolerance of a loss, for about a thousand successive roundings
constexpr std::uint32_t kSlowness = 8;  // weights change by the momentum divided by this number

// clang-format off
// The tensors of a step. Gradients and momenta are in the order of their weights.
enum Tensor : std::size_t {
  kTokens, kTargets,
  kTable, kPlaces, kToQueries, kToKeys, kToValues, kToMixed, kUp, kDown, kToTokens,
  kTableGradient, kPlacesGradient, kToQueriesGradient, kToKeysGradient, kToValuesGradient, kToMixedGradient,
  kUpGradient, kDownGradient, kToTokensGradient,
  kFirstMomentum, kLastMomentum = kFirstMomentum + (kToTokens - kTable),
  kInput, kQueries, kKeys, kValues, kAttention, kMixed, kOutput, kMiddle, kHidden, kPositive, kLifted, kLast, kScores,
  kLosses,
  kScoresGradient, kLastGradient, kPositiveGradient, kHiddenGradient, kMiddleGradient, kMixedGradient,
  kAttentionGradient, kQueriesGradient, kKeysGradient, kValuesGradient, kPart,
  kTensors
};
// clang-format on
constexpr std::size_t kWeights = kTableGradient - kTable;

// One call: out = operation(a, b, c), for each of `items`.
struct Call {
  const char* operation;
  Tensor a, b, c, out;
  std::uint32_t p, q, r, items;
};

constexpr std::uint32_t kFirstTurned = 1, kSecondTurned = 2;

struct Weight {
  Tensor weight, gradient, momentum;
};
Weight weight_at(std::size_t i) {
  return {static_cast<Tensor>(kTable + i), static_cast<Tensor>(kTableGradient + i),
          static_cast<Tensor>(kFirstMomentum + i)};
}

std::size_t elements(const ModelShape& s, Tensor tensor) {
  const std::size_t t = s.positions, d = s.columns;
  if (tensor >= kTableGradient && tensor < kInput)
    return elements(s, static_cast<Tensor>(kTable + (tensor - kTable) % kWeights));
  switch (tensor) {
    case kTokens:
    case kTargets:
    case kLosses:
      return t;
    case kTable:
    case kToTokens:
      return s.tokens * d;
    case kToQueries:
    case kToKeys:
    case kToValues:
    case kToMixed:
      return d * d;
    case kUp:
    case kDown:
      return d * s.hidden;
    case kAttention:
    case kAttentionGradient:
      return s.heads * t * t;
    case kHidden:
    case kPositive:
    case kHiddenGradient:
    case kPositiveGradient:
      return t * s.hidden;
    case kScores:
    case kScoresGradient:
      return t * s.tokens;
    default:
      return t * d;
  }
}

// The initial values of a tensor. The seed selects the weights. The target of each token is a function of the
// token.
std::vector<float> given(const ModelShape& s, Tensor tensor) {
  const std::size_t count = elements(s, tensor);
  std::vector<float> values(count);
  if (tensor >= kTableGradient) return values;
  const auto words = noise_words(count, suite::seed() * kTensors + (tensor == kTargets ? kTokens : tensor));
  const float scale =
      tensor == kTable || tensor == kPlaces ? 0.5F : 1 / std::sqrt(static_cast<float>(s.columns));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t token = words[i] % s.tokens;
    values[i] = tensor == kTokens    ? static_cast<float>(token)
                : tensor == kTargets ? static_cast<float>((token * 5 + 3) % s.tokens)
                                     : scale * (static_cast<float>(words[i] >> 8) * 0x1p-23F - 1);
  }
  return values;
}

// The calls of one training step, in their order.
class StepPlan {
 public:
  explicit StepPlan(const ModelShape& shape) : s_(shape) {
    forward();
    backward_to_middle();
    backward_to_input();
    update();
  }
  const std::vector<Call>& calls() const { return calls_; }

 private:
  void add(const Call& call) { calls_.push_back(call); }
  void product(Tensor a, Tensor b, Tensor out, std::uint32_t rows, std::uint32_t inner, std::uint32_t columns,
               std::uint32_t turned = 0) {
    add({"train_product", a, b, a, out, inner, rows << 16 | columns, turned, rows * columns});
  }
  void sum(Tensor a, Tensor b, Tensor out) {
    add({"train_add", a, b, a, out, 0, 0, 0, s_.positions * s_.columns});
  }
  void mix(Tensor weights, Tensor rows, Tensor out, bool turned) {
    const std::uint32_t heads = s_.heads | (turned ? 0x10000u : 0u);
    add({"train_mix", weights, rows, rows, out, s_.positions, s_.columns, heads, s_.positions * s_.columns});
  }

  void forward() {
    const auto [t, d, heads, hidden, tokens] = s_;
    add({"train_embed", kTable, kPlaces, kTokens, kInput, d, 0, 0, t * d});
    product(kInput, kToQueries, kQueries, t, d, d);
    product(kInput, kToKeys, kKeys, t, d, d);
    product(kInput, kToValues, kValues, t, d, d);
    add({"train_attend", kQueries, kKeys, kKeys, kAttention, t, d, heads, heads * t});
    mix(kAttention, kValues, kMixed, false);
    product(kMixed, kToMixed, kOutput, t, d, d);
    sum(kInput, kOutput, kMiddle);
    product(kMiddle, kUp, kHidden, t, d, hidden);
    add({"train_where_positive", kHidden, kHidden, kHidden, kPositive, 0, 0, 0, t * hidden});
    product(kPositive, kDown, kLifted, t, hidden, d);
    sum(kMiddle, kLifted, kLast);
    product(kLast, kToTokens, kScores, t, d, tokens);
    add({"train_loss", kScores, kTargets, kTargets, kLosses, tokens, 0, 0, t});
  }

  void backward_to_middle() {
    const auto [t, d, heads, hidden, tokens] = s_;
    add({"train_loss_back", kScores, kTargets, kTargets, kScoresGradient, tokens, t, 0, t});
    product(kLast, kScoresGradient, kToTokensGradient, d, t, tokens, kFirstTurned);
    product(kScoresGradient, kToTokens, kLastGradient, t, tokens, d, kSecondTurned);
    product(kPositive, kLastGradient, kDownGradient, hidden, t, d, kFirstTurned);
    product(kLastGradient, kDown, kPositiveGradient, t, d, hidden, kSecondTurned);
    add({"train_where_positive", kPositiveGradient, kHidden, kHidden, kHiddenGradient, 0, 0, 0, t * hidden});
    product(kMiddle, kHiddenGradient, kUpGradient, d, t, hidden, kFirstTurned);
    product(kHiddenGradient, kUp, kPart, t, hidden, d, kSecondTurned);
    sum(kLastGradient, kPart, kMiddleGradient);
  }

  void backward_to_input() {
    const auto [t, d, heads, hidden, tokens] = s_;
    product(kMixed, kMiddleGradient, kToMixedGradient, d, t, d, kFirstTurned);
    product(kMiddleGradient, kToMixed, kMixedGradient, t, d, d, kSecondTurned);
    add({"train_attend_back", kAttention, kValues, kMixedGradient, kAttentionGradient, t, d, heads,
         heads * t});
    mix(kAttention, kMixedGradient, kValuesGradient, true);
    mix(kAttentionGradient, kKeys, kQueriesGradient, false);
    mix(kAttentionGradient, kQueries, kKeysGradient, true);
    through(kQueriesGradient, kToQueries, kToQueriesGradient, kMiddleGradient);
    through(kKeysGradient, kToKeys, kToKeysGradient, kPlacesGradient);
    through(kValuesGradient, kToValues, kToValuesGradient, kPlacesGradient);
    add({"train_embed_back", kPlacesGradient, kTokens, kTokens, kTableGradient, d, t, 0, tokens * d});
  }
  // Adds the calls for a product of the input with `weight`: its gradient, and its part of the gradient of the
  // input.
  void through(Tensor gradient, Tensor weight, Tensor weight_gradient, Tensor so_far) {
    const auto [t, d, heads, hidden, tokens] = s_;
    product(kInput, gradient, weight_gradient, d, t, d, kFirstTurned);
    product(gradient, weight, kPart, t, d, d, kSecondTurned);
    sum(so_far, kPart, kPlacesGradient);
  }

  void update() {
    for (std::size_t i = 0; i < kWeights; ++i) {
      const auto [weight, gradient, momentum] = weight_at(i);
      const auto items = static_cast<std::uint32_t>(elements(s_, weight));
      add({"train_momentum", gradient, gradient, gradient, momentum, 0, 0, 0, items});
      add({"train_update", momentum, momentum, momentum, weight, kSlowness, 0, 0, items});
    }
  }

  ModelShape s_;
  std::vector<Call> calls_;
};

struct Trained {
  std::vector<double> losses;          // the mean loss of each step
  std::vector<std::uint32_t> weights;  // all weights, as bits; only of a device
  std::vector<double> milliseconds;    // the duration of each step; only of a device
};

double mean_of(const auto& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Trained train_on_host(const ModelShape& shape, std::int64_t steps) {
  std::vector<std::vector<double>> tensors;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto values = given(shape, static_cast<Tensor>(i));
    tensors.emplace_back(values.begin(), values.end());
  }
  const StepPlan plan(shape);
  Trained trained;
  for (std::int64_t i = 0; i < steps; ++i) {
    for (const Call& call : plan.calls()) {
      const auto operation = host_training::kOperations.at(call.operation);
      for (std::uint32_t item = 0; item < call.items; ++item) {
        operation(item, tensors[call.a].data(), tensors[call.b].data(), tensors[call.c].data(),
                  tensors[call.out].data(), call.p, call.q, call.r);
      }
    }
    trained.losses.push_back(mean_of(tensors[kLosses]));
  }
  return trained;
}

class DeviceTraining {
 public:
  DeviceTraining(const Context& context, const ModelShape& shape)
      : context_(context),
        shape_(shape),
        plan_(shape),
        queue_(context),
        module_(Module::load(context, "training")) {
    for (const auto& [name, operation] : host_training::kOperations) {
      kernels_.emplace(name, Kernel(module_, "run_" + name));
    }
  }

  Trained run(std::int64_t steps) {
    tensors_.clear();
    for (std::size_t i = 0; i < kTensors; ++i) {
      tensors_.push_back(device_copy(queue_, context_, given(shape_, static_cast<Tensor>(i))));
    }
    Trained trained;
    for (std::int64_t i = 0; i < steps; ++i) {
      const suite::Stopwatch watch;
      for (const Call& call : plan_.calls()) submit(call);
      queue_.synchronize();
      trained.milliseconds.push_back(std::chrono::duration<double, std::milli>(watch.by_clock()).count());
      trained.losses.push_back(mean_of(read_as<float>(queue_, context_, tensors_[kLosses])));
    }
    for (std::size_t i = 0; i < kWeights; ++i) {
      const auto words = read_as<std::uint32_t>(queue_, context_, tensors_[weight_at(i).weight]);
      trained.weights.insert(trained.weights.end(), words.begin(), words.end());
    }
    return trained;
  }

 private:
  void submit(const Call& call) {
    queue_.launch(kernels_.at(call.operation), cover(call.items, 64),
                  arguments(tensors_[call.a], tensors_[call.b], tensors_[call.c], tensors_[call.out], call.p,
                            call.q, call.r, call.items));
  }

  Context context_;
  ModelShape shape_;
  StepPlan plan_;
  Queue queue_;
  Module module_;
  std::map<std::string, Kernel> kernels_;
  std::vector<Buffer> tensors_;
};

// A NaN is never within the tolerance.
void expect_losses(const std::vector<double>& expected, const std::vector<double>& got,
                   const Device& device) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = kTolerance * (expected[i] + 0.1);
    if (std::fabs(got[i] - expected[i]) <= tolerance) continue;
    return suite::report({.message = fmt::format("loss of step {}", i),
                          .expected = fmt::format("{:.9g} within {:.2g}", expected[i], tolerance),
                          .got = fmt::format("{:.9g}", got[i]),
                          .device = describe(device)});
  }
  suite::expect_true(got.back() < got.front(),
                     fmt::format("the loss falls, from {:.6g} to {:.6g}", got.front(), got.back()));
}

void report_time(std::vector<double> milliseconds) {
  std::ranges::sort(milliseconds);
  suite::measure("kernels.training_step", milliseconds[milliseconds.size() / 2], "ms",
                 static_cast<std::int64_t>(milliseconds.size()), milliseconds.back() - milliseconds.front());
}

}  // namespace

PROCTOR_CHECK(Training, RepeatedStepsGiveSameBits, "K127", kRepeatable, kGate,
              .faults = {"kernel.flip_stored_bits:kernel=run_train_update,times=1",
                         "kernel.wrong_result:kernel=run_train_loss,arg=3,at=3,xor=0x40",
                         "kernel.skip:kernel=run_train_update"},
              .sizes = {.smoke = 2, .ci = 3, .full = 10, .stress = 50, .unit = "steps"}) {
  const auto context = leased();
  const std::int64_t steps = sized_for_speed(5);
  const ModelShape& shape = steps < 10 ? kSmallModel : kLargeModel;
  DeviceTraining training(context, shape);
  step(fmt::format("given {} steps of training from the same weights, twice", steps));
  const Trained first = training.run(steps), second = training.run(steps);
  Sha256 digest;
  digest.add(
      {reinterpret_cast<const char*>(first.weights.data()), first.weights.size() * sizeof(std::uint32_t)});
  suite::record("same.training", digest.hex());
  expect_words("weights of the second training, as bits", first.weights, second.weights, context.device());
  expect_losses(train_on_host(shape, steps).losses, first.losses, context.device());
  report_time(second.milliseconds);
}

}  // namespace proctor::accel
