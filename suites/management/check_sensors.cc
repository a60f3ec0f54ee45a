// What the management interface measures on a device that works.
#include <algorithm>
#include <chrono>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kWarn;
using suite::step;

constexpr const char* kTemperature =
    by_vendor("Level Zero specification, zes_temp_properties_t maxTemperature",
              "NVML API Reference Guide, nvmlDeviceGetTemperatureThreshold: slowdown");
constexpr const char* kEnergy =
    by_vendor("Level Zero specification, zes_power_energy_counter_t: the monotonic energy counter",
              "NVML API Reference Guide, nvmlDeviceGetTotalEnergyConsumption: since the driver was loaded");

void work(const Context& context) {
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Buffer words = device_memory(context, 40'000);
  queue.launch(Kernel(module, "fill"), cover(10'000, 50), arguments(words, 7u, 10'000u));
  queue.synchronize();
}

}  // namespace

PROCTOR_CHECK(Sensors, TemperatureStaysBelowItsLimit, "K53", kTemperature, kWarn, {"sysman.hot"}) {
  const auto context = leased();
  step("given a device that has worked");
  work(context);
  const Heat heat = context.device().heat();
  suite::measure("temperature", heat.now, "C");
  expect_true(heat.now < heat.limit, "the sensor nearest to its limit is below it, it shows " +
                                         std::to_string(heat.now) + " of " + std::to_string(heat.limit));
}

PROCTOR_CHECK(Sensors, EnergyNeverFalls, "K54", kEnergy, kWarn, {"sysman.energy_backwards"}) {
  const auto context = leased();
  step("given the energy counter before and after work");
  const Energy before = context.device().energy();
  work(context);
  const Energy after = context.device().energy();
  expect_true(after.at_us >= before.at_us, "the counter's clock goes on");
  expect_true(after.microjoules >= before.microjoules,
              "it counts up, it says " + std::to_string(before.microjoules) + " and then " +
                  std::to_string(after.microjoules) + " microjoules");
}

// A card that works draws more than a watt, and less than twice what it may: a counter in another unit is off by a
// thousand. The counter is read when it has just changed, because some change only now and then.
PROCTOR_CHECK(Sensors, EnergyIsInMicrojoules, "K60", kEnergy, kWarn, {"sysman.energy_scale"}) {
  const auto context = leased();
  const auto changed_since = [&](const Energy& before) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Energy now = context.device().energy();
    while (now.microjoules == before.microjoules && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      now = context.device().energy();
    }
    return now;
  };
  step("given the energy counter twice, a tenth of a second apart");
  const Energy first = changed_since(context.device().energy());
  work(context);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Energy last = changed_since(context.device().energy());
  const auto microseconds = static_cast<double>(last.at_us - first.at_us);
  const double watts =
      static_cast<double>(last.microjoules - first.microjoules) / std::max(microseconds, 1.0);
  suite::measure("power", watts, "W");
  constexpr double kAnyCard = 5000;  // where no limit is told
  const double limit =
      first.limit_milliwatts == 0 ? kAnyCard : static_cast<double>(first.limit_milliwatts) / 1000;
  expect_true(watts >= 1 && watts <= 2 * limit, "the card draws at least a watt and at most twice " +
                                                    std::to_string(limit) + ", by its counter it draws " +
                                                    std::to_string(watts));
}

}  // namespace proctor::accel
