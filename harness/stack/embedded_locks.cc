#include "harness/stack/embedded_locks.h"

#include <string>
#include <utility>

namespace proctor {

const std::vector<StackLock>& embedded_locks() {
  static const std::vector<StackLock> kLocks = [] {
    std::vector<StackLock> locks;
    for (const auto& [name, text] :
         {std::pair("cpu-sim", embedded_cpu_sim()), std::pair("cuda-12", embedded_cuda_12()),
          std::pair("cuda-13", embedded_cuda_13()), std::pair("xpu-lts", embedded_xpu_lts()),
          std::pair("xpu-rolling", embedded_xpu_rolling())}) {
      if (auto lock = parse_stack_lock(text, std::string(name) + ".toml")) locks.push_back(*std::move(lock));
    }
    return locks;
  }();
  return kLocks;
}

}  // namespace proctor
