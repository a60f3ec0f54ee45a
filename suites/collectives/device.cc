#include <optional>

#include "harness/journal/child_protocol.h"
#include "suites/accel/check_fixture.h"
#include "suites/collectives/memory_space.h"

namespace proctor::collectives {

struct MemorySpace::Impl {
  accel::Context context = accel::leased();
  accel::Queue queue{context};

  // Returns a buffer on the device, of at least one byte, so that it has an address.
  accel::Buffer buffer_of(const Bytes& bytes) {
    auto buffer = accel::device_memory(context, bytes.size() + 1);
    if (!bytes.empty()) accel::write(queue, context, buffer.data(), bytes);
    return buffer;
  }
  Bytes read(const accel::Buffer& buffer) {
    const std::size_t size = buffer.bytes() - 1;
    return size == 0 ? Bytes() : accel::read_bytes(queue, context, buffer.data(), size);
  }
};

MemorySpace::MemorySpace() : impl_(std::make_unique<Impl>()) {}
MemorySpace::~MemorySpace() = default;

struct Tensor::Impl {
  MemorySpace::Impl& space;
  accel::Buffer buffer;
  std::optional<HostMemory> staged;  // copy for a library that uses host memory
};

Tensor::Tensor(MemorySpace& space, Memory memory, const Bytes& bytes)
    : impl_(std::make_unique<Impl>(Impl{*space.impl_, space.impl_->buffer_of(bytes), {}})) {
  if (memory == Memory::kHost) impl_->staged.emplace(space.impl_->read(impl_->buffer));
}
Tensor::~Tensor() = default;

std::byte* Tensor::data() const { return impl_->staged ? impl_->staged->data() : impl_->buffer.data(); }

Bytes Tensor::bytes() const {
  if (!impl_->staged) return impl_->space.read(impl_->buffer);
  return impl_->space.read(impl_->space.buffer_of(impl_->staged->bytes()));
}

int devices_of_a_rank() { return 1; }
std::vector<std::string> needs_of_the_suite() { return {child::kExecutionNeed}; }
suite::VisibleDevices visible_devices() { return accel::identify_visible; }

}  // namespace proctor::collectives
