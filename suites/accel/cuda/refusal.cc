#include "suites/accel/cuda/refusal.h"

#include <algorithm>

#include "suites/main/check.h"

namespace proctor::accel {

Victim::Victim()
    : context(leased()),
      queue(context),
      stream(native(queue)),
      module(Module::load(context, "basic")),
      kernel(module, "fill"),
      memory(device_copy(queue, context, noise(kVictimBytes, 1))),
      host(host_memory(context, kVictimBytes)) {}

std::vector<std::string> functions_of(std::span<const BadCall> calls) {
  std::vector<std::string> names;
  for (const BadCall& call : calls) {
    if (std::find(names.begin(), names.end(), call.function) == names.end())
      names.emplace_back(call.function);
  }
  return names;
}

void expect_refusals(std::span<const BadCall> calls) {
  Victim victim;
  for (const BadCall& call : calls) {
    if (call.function != suite::parameter()) continue;
    suite::step(std::string("given that ") + call.what);
    const Status got = call.call(victim);
    suite::expect_same(suite::parameter() + " answers, given that " + call.what,
                       cudaGetErrorName(call.expected), got.name());
    static_cast<void>(cudaGetLastError());
    expect_bytes("memory after that", noise(kVictimBytes, 1),
                 read_bytes(victim.queue, victim.context, victim.memory.data(), kVictimBytes),
                 victim.context.device());
  }
}

}  // namespace proctor::accel
