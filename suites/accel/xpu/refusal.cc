#include "suites/accel/xpu/refusal.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>

#include "suites/accel/xpu/level_zero.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::step;

constexpr const char* kLayer = "libze_validation_layer.so.1";
constexpr std::size_t kBytes = 4096;

Helper::Variables layer(bool on) {
  const std::string value = on ? "1" : "0";
  return {{"ZE_ENABLE_VALIDATION_LAYER", value}, {"ZE_ENABLE_PARAMETER_VALIDATION", value}};
}

std::vector<BadCall> calls_of(std::span<const BadCall> calls, const std::string& function) {
  std::vector<BadCall> found;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(found),
               [&](const BadCall& call) { return call.function == function; });
  return found;
}

// A run without the layer may crash, but must not hang. Each call has its own process.
void expect_an_end(const std::vector<BadCall>& calls, const std::string& helper) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    step(std::string("without the layer, if ") + calls[i].what);
    Helper child(helper, {calls[i].function, std::to_string(i)}, layer(false));
    expect_true(!child.finish().hung, "the process ends by itself");
  }
}

void expect_codes(const std::vector<BadCall>& calls, const std::string& helper) {
  Helper child(helper, {calls.front().function, "all"}, layer(true));
  need(child.answer().at("layer").get<bool>(), std::string("library_missing:") + kLayer);
  for (const BadCall& call : calls) {
    const std::string mistake = std::string("given that ") + call.what;
    step("with the layer, " + mistake);
    const auto answer = child.answer();
    suite::expect_same(std::string(call.function) + " answers, " + mistake, call.expected,
                       answer.at("code").get<std::string>());
    expect_true(answer.at("kept").get<bool>(), "memory holds its bytes after that");
  }
}

}  // namespace

Victim::Victim()
    : context(leased()),
      queue(context, Queue::Mode::kImmediate),
      module(Module::load(context, "basic")),
      kernel(module, "fill"),
      event(context),
      memory(device_copy(queue, context, noise(kBytes, 1))),
      device(native(context.device())),
      list(immediate_list(queue)) {}

std::vector<std::string> functions_of(std::span<const BadCall> calls) {
  std::vector<std::string> names;
  for (const BadCall& call : calls) {
    if (std::find(names.begin(), names.end(), call.function) == names.end())
      names.emplace_back(call.function);
  }
  return names;
}

void make_bad_calls(std::span<const BadCall> calls, const std::vector<std::string>& words) {
  const rlimit no_core{0, 0};  // a crash is a valid result
  setrlimit(RLIMIT_CORE, &no_core);
  Victim victim;
  suite::answer({{"layer", !xpu::mapped_library("libze_validation_layer").empty()}});
  const auto mine = calls_of(calls, words.at(0));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (words.at(1) != "all" && words.at(1) != std::to_string(i)) continue;
    const std::string code = mine[i].call(victim).name();
    const auto bytes = read_bytes(victim.queue, victim.context, victim.memory.data(), kBytes);
    suite::answer({{"code", code}, {"kept", bytes == noise(kBytes, 1)}});
  }
}

void expect_refusals(std::span<const BadCall> calls, const std::string& helper) {
  need(!Device::list().empty(), "no_device");
  const auto mine = calls_of(calls, suite::parameter());
  expect_an_end(mine, helper);
  expect_codes(mine, helper);
}

}  // namespace proctor::accel
