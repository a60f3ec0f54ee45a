// Runs kernels that compute one function for each element of their arrays, and makes their arguments. A half is 16
// bits on the host.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"

namespace proctor::accel {

// The kernels of one module. They take arrays of `n` elements, and write `results` arrays of the same length.
class Functions {
 public:
  Functions(const Context& context, const std::string& module)
      : context_(context), queue_(context), module_(Module::load(context, module)) {}

  const Device& device() const { return context_.device(); }

  template <typename Out, typename In>
  std::vector<Out> run(const std::string& kernel, std::size_t results,
                       const std::vector<std::vector<In>>& inputs,
                       const std::vector<std::uint32_t>& which = {}) {
    const std::size_t n = inputs[0].size();
    std::vector<Buffer> buffers;
    for (const auto& input : inputs) buffers.push_back(device_copy(queue_, context_, input));
    buffers.push_back(device_memory(context_, results * n * sizeof(Out)));
    if (!which.empty()) buffers.push_back(device_copy(queue_, context_, which));
    Arguments all;
    for (const Buffer& buffer : buffers) all.push_back(argument(buffer));
    all.push_back(argument(static_cast<std::uint32_t>(n)));
    queue_.launch(Kernel(module_, kernel), cover(n, 64), all);
    queue_.synchronize();
    return read_as<Out>(queue_, context_, buffers[inputs.size()]);
  }

 private:
  Context context_;
  Queue queue_;
  Module module_;
};

inline long double number_of(float value) { return value; }
inline long double number_of(double value) { return value; }
inline long double number_of(std::uint16_t half) { return kernels::float_from_half(half); }

template <typename T>
T nearest(long double value) {
  if constexpr (std::same_as<T, std::uint16_t>) {
    return kernels::half_from_float(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 2, std::int16_t,
                                  std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;

template <typename T>
bool sign_of(T value) {
  return std::bit_cast<BitsOf<T>>(value) < 0;
}

constexpr int kDigits16 = 11, kDigits32 = 24, kDigits64 = 53;
template <typename T>
constexpr int kDigits = sizeof(T) == 2   ? kDigits16
                        : sizeof(T) == 4 ? kDigits32
                                         : kDigits64;
// True if the device keeps denormal numbers of this type. A device may flush those of floats and halves.
template <typename T>
bool keeps_denormals(const Device& device) {
  const Properties& properties = device.properties();
  return sizeof(T) == 8 || (sizeof(T) == 4 ? properties.fp32_denormals : properties.fp16_denormals);
}
template <typename T>
constexpr int kLowestExponent = sizeof(T) == 2   ? -14
                                : sizeof(T) == 4 ? -126
                                                 : -1022;

// Special values: zeros, their neighbours, infinities, and NaN with both signs.
template <typename T>
std::vector<T> special_numbers(bool denormals) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  std::vector<T> result;
  const long double least = std::ldexp(1.0L, kLowestExponent<T>),
                    step_below = std::ldexp(least, 1 - kDigits<T>);
  std::vector<long double> sizes = {0, 1, 2, 2.5L, least, kInfinity};
  if (denormals) sizes.insert(sizes.end(), {step_below, least - step_below});
  for (const long double size : sizes) {
    result.push_back(nearest<T>(size));
    result.push_back(nearest<T>(-size));
  }
  result.push_back(nearest<T>(std::numeric_limits<long double>::quiet_NaN()));
  return result;
}

}  // namespace proctor::accel
