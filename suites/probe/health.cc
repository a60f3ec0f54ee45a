#include "suites/probe/health.h"

#include <cstdint>
#include <span>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/skipped.h"

namespace proctor::health {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::size_t kWords = 16 * 1024;
constexpr std::uint64_t kNoise = 1;
constexpr std::uint32_t kSeed = 5;
constexpr std::uint32_t kGroup = 64;

// What the kernel `transform` of kernels/device/basic.cl makes of each word.
Words transformed(Words words) {
  for (auto& word : words) word = word * 3 + kSeed;
  return words;
}

std::string first_difference(const Words& expected, const Words& got) {
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != got[i] && wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return "word " + std::to_string(first) + " is " + std::to_string(got[first]) + ", expected " +
         std::to_string(expected[first]) + " (" + std::to_string(wrong) + " of " +
         std::to_string(expected.size()) + " differ)";
}

// `step` always names what is being done, for whoever catches what is thrown here.
Finding copy_and_compute(const accel::Device& device, std::string& step) {
  step = "begin to use the device";
  const accel::Context context(device);
  accel::Queue queue(context);
  const auto module = accel::Module::load(context, "basic");
  const accel::Kernel transform(module, "transform");

  step = "copy to the device";
  const Words sent = accel::noise_words(kWords, kNoise);
  const auto in = accel::device_copy(queue, context, sent);
  const auto out = accel::device_copy(queue, context, Words(kWords));
  step = "run the kernel";
  queue.launch(transform, accel::cover(kWords, kGroup),
               accel::arguments(in, out, kSeed, static_cast<std::uint32_t>(kWords)));
  queue.synchronize();
  step = "copy from the device";
  const Words kept = accel::read_as<std::uint32_t>(queue, context, in);
  const Words made = accel::read_as<std::uint32_t>(queue, context, out);

  if (auto wrong = first_difference(sent, kept); !wrong.empty())
    return {Result::kFail, "compare what was copied there and back", wrong};
  if (auto wrong = first_difference(transformed(sent), made); !wrong.empty())
    return {Result::kFail, "compare what the kernel made", wrong};
  return {};
}

}  // namespace

const char* to_string(Result result) {
  switch (result) {
    case Result::kPass:
      return "pass";
    case Result::kFail:
      return "fail";
    case Result::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Finding examine(accel::Device device) {
  std::string step;
  try {
    return copy_and_compute(device, step);
  } catch (const suite::Skipped& skipped) {
    return {Result::kUnknown, step, skipped.reason()};
  } catch (const std::exception& error) {
    return {Result::kFail, step, error.what()};
  }
}

Finding reset(accel::Device device) {
  const std::string step = "reset the device";
  try {
    device.try_reset().or_throw();
    return {};
  } catch (const suite::Skipped& skipped) {
    return {Result::kUnknown, step, skipped.reason()};
  } catch (const std::exception& error) {
    return {Result::kFail, step, error.what()};
  }
}

}  // namespace proctor::health
