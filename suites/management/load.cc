#include "suites/management/load.h"

#include "suites/accel/memory_cap.h"

namespace proctor::accel {

void work_on_memory(const Context& context, std::uint32_t n) {
  constexpr std::uint32_t kNoise = 2;
  Queue queue(context);
  const Module module = Module::load(context, "patterns");
  const Kernel write_pattern(module, "write_pattern"), judge_pattern(module, "judge_pattern");
  need_memory(context.device(), std::uint64_t{8} * n);
  const Buffer words = device_memory(context, std::size_t{8} * n);
  const auto wrong = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const auto places = device_copy(queue, context, std::vector<std::uint64_t>(48));
  queue.launch(write_pattern, cover(n, 256), arguments(words, kNoise, std::uint64_t{0}, n));
  queue.launch(judge_pattern, cover(n, 256), arguments(words, kNoise, std::uint64_t{0}, wrong, places, n));
  queue.synchronize();
}

void work_on_link(const Context& context, std::size_t bytes) {
  Queue queue(context);
  const Buffer device = device_memory(context, bytes), host = host_memory(context, bytes);
  queue.copy(device.data(), host.data(), bytes);
  queue.copy(host.data(), device.data(), bytes);
  queue.synchronize();
}

}  // namespace proctor::accel
