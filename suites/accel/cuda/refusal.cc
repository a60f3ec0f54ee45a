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

namespace {

// The documents list the possible codes of a function, but not the code of each argument. On hardware another
// code is therefore only a warning.
void expect_code(const std::string& what, const std::string& expected, const Status& got) {
  if (suite::on_simgpu()) return suite::expect_same(what, expected, got.name());
  expect_refused(what, got);
  if (!got.ok() && got.name() != expected)
    suite::warn(what + " " + got.name() + ", and the simulator " + expected);
}

}  // namespace

void expect_refusals(std::span<const BadCall> calls) {
  Victim victim;
  const bool needs_ipc = suite::parameter().starts_with("cudaIpc");
  need(!needs_ipc || victim.context.device().properties().ipc, "unsupported:ipc");
  for (const BadCall& call : calls) {
    if (call.function != suite::parameter()) continue;
    suite::step(std::string("given that ") + call.what);
    const Status got = call.call(victim);
    expect_code(suite::parameter() + " returns an error if " + call.what, cudaGetErrorName(call.expected),
                got);
    static_cast<void>(cudaGetLastError());
    expect_bytes("memory after that", noise(kVictimBytes, 1),
                 read_bytes(victim.queue, victim.context, victim.memory.data(), kVictimBytes),
                 victim.context.device());
  }
}

}  // namespace proctor::accel
