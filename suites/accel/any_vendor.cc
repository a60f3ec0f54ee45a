// Implements the parts of accel.h that do not depend on the vendor.
#include <utility>

#include "suites/accel/accel.h"
#include "suites/accel/memory_cap.h"

namespace proctor::accel {

// ---- Codes and kinds of memory ----

void Status::or_throw() const {
  if (!ok()) throw Error(*this);
}

Error::Error(Status status) : status_(status), text_(std::string(status.call()) + ": " + status.name()) {}

const char* to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kShared:
      return "shared";
  }
  return "";
}

// ---- Buffers ----

Buffer::Buffer(const Context& context, const Allocation& allocation) {
  try_allocate(context, allocation, *this).or_throw();
}

Buffer::Buffer(Context context, MemoryKind kind, std::byte* data, std::size_t bytes, bool imported)
    : context_(context.impl()), kind_(kind), data_(data), bytes_(bytes), imported_(imported) {}

Buffer::~Buffer() {
  if (data_ != nullptr) try_free();  // a destructor cannot return an error
}

Buffer::Buffer(Buffer&& other) noexcept
    : context_(std::move(other.context_)),
      kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      imported_(other.imported_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(imported_, other.imported_);
  return *this;
}

Status Buffer::try_allocate(const Context& context, const Allocation& allocation, Buffer& out) {
  void* pointer = nullptr;
  const auto take = [&] { return allocate(context, allocation, &pointer); };
  const bool of_device = allocation.kind == MemoryKind::kDevice || allocation.kind == MemoryKind::kShared;
  const Device device = allocation.device == Device() ? context.device() : allocation.device;
  const Status status =
      of_device ? MemoryCap::of_process().allocate(device, allocation.bytes, &pointer, take) : take();
  if (status.ok()) {
    out = Buffer(context, allocation.kind, static_cast<std::byte*>(pointer), allocation.bytes, false);
  }
  return status;
}

Status Buffer::try_free() {
  void* pointer = std::exchange(data_, nullptr);
  bytes_ = 0;
  const auto give_back = [&] { return release(pointer); };
  // Memory of another process does not count towards this process's cap, whatever its address is.
  return imported_ ? give_back() : MemoryCap::of_process().free(pointer, give_back);
}

}  // namespace proctor::accel
