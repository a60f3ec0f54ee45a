#include "suites/collectives/memory_space.h"
#include "suites/main/check.h"

namespace proctor::collectives {

struct MemorySpace::Impl {};

MemorySpace::MemorySpace() = default;
MemorySpace::~MemorySpace() = default;

struct Tensor::Impl {
  HostMemory memory;
};

Tensor::Tensor(MemorySpace&, Memory memory, const Bytes& bytes) {
  if (memory == Memory::kDevice) suite::skip("needs:device_memory");
  impl_ = std::make_unique<Impl>(Impl{HostMemory(bytes)});
}
Tensor::~Tensor() = default;

std::byte* Tensor::data() const { return impl_->memory.data(); }
Bytes Tensor::bytes() const { return impl_->memory.bytes(); }

int devices_of_a_rank() { return 0; }
std::vector<std::string> needs_of_the_suite() { return {}; }
suite::VisibleDevices visible_devices() { return nullptr; }

}  // namespace proctor::collectives
