// Addresses and memory apart: reservations, physical memory, mappings. Level Zero only.
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kVirtual = "Level Zero specification, Virtual and Physical Memory";

std::size_t page_size(const Context& context) {
  std::size_t bytes = 0;
  const Status status =
      ZE_CALL(zeVirtualMemQueryPageSize, native(context), native(context.device()), 1, &bytes);
  need(!status.unsupported(), "unsupported:virtual_memory");
  status.or_throw();
  return bytes;
}

class Physical {
 public:
  Physical(const Context& context, std::size_t bytes) : context_(context) {
    ze_physical_mem_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    description.size = bytes;
    ZE_CALL(zePhysicalMemCreate, native(context), native(context.device()), &description, &handle_)
        .or_throw();
  }
  ~Physical() { entry_points().zePhysicalMemDestroy(native(context_), handle_); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ze_physical_mem_handle_t handle() const { return handle_; }

 private:
  Context context_;
  ze_physical_mem_handle_t handle_ = nullptr;
};

// A range of addresses with `bytes` of physical memory behind it, from its byte `offset` on.
class Mapping {
 public:
  Mapping(const Context& context, const Physical& physical, std::size_t offset, std::size_t bytes)
      : context_(context), bytes_(bytes) {
    reserve();
    ZE_CALL(zeVirtualMemMap, native(context), pointer_, bytes, physical.handle(), offset,
            ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
        .or_throw();
  }
  ~Mapping() {
    entry_points().zeVirtualMemUnmap(native(context_), pointer_, bytes_);
    entry_points().zeVirtualMemFree(native(context_), pointer_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* data() const { return pointer_; }

 private:
  // Null lets the driver choose; the validation layer of loader 1.8 refuses it, so
  // that it gets wishes instead.
  void reserve() {
    Status status = ZE_CALL(zeVirtualMemReserve, native(context_), nullptr, bytes_, &pointer_);
    for (std::uintptr_t wish = 1; status.code() == ZE_RESULT_ERROR_INVALID_NULL_POINTER && wish <= 7;
         ++wish) {
      void* const start = reinterpret_cast<void*>(wish << 44);
      if (ZE_CALL(zeVirtualMemReserve, native(context_), start, bytes_, &pointer_).ok()) return;
    }
    status.or_throw();
  }

  Context context_;
  std::size_t bytes_;
  void* pointer_ = nullptr;
};

}  // namespace

PROCTOR_CHECK(Virtual, PageSizeIsAPage, "M40", kVirtual, kGate, {"alloc.granularity_lie"}) {
  const auto context = leased();
  step("given the page size of a small range");
  const std::size_t page = page_size(context);
  expect_true(page >= 4096 && (page & (page - 1)) == 0,
              "it is a power of two of at least 4096, it is " + std::to_string(page));
}

PROCTOR_CHECK(Virtual, MappedMemoryHoldsItsBytes, "M40", kVirtual, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const Physical physical(context, 2 * page);
  const Mapping mapping(context, physical, 0, 2 * page);
  Queue queue(context);
  step("given two pages that are mapped");
  const auto sent = noise(2 * page, 1);
  write(queue, context, mapping.data(), sent);
  expect_bytes("mapped memory", sent, read_bytes(queue, context, mapping.data(), 2 * page), context.device());
}

PROCTOR_CHECK(Virtual, TwoMappingsShowTheSameBytes, "M40", kVirtual, kGate, {"alloc.mapping_not_shared"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  step("given one page at two addresses, written through the first");
  const Physical physical(context, page);
  const Mapping first(context, physical, 0, page);
  const Mapping second(context, physical, 0, page);
  Queue queue(context);
  const auto sent = noise(page, 2);
  write(queue, context, first.data(), sent);
  expect_bytes("the second address", sent, read_bytes(queue, context, second.data(), page), context.device());
}

PROCTOR_CHECK(Virtual, OffsetSelectsThePage, "M40", kVirtual, kGate, {"alloc.map_offset_ignored"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  step("given a mapping of the second of two pages");
  const Physical physical(context, 2 * page);
  const Mapping whole(context, physical, 0, 2 * page);
  const Mapping second_page(context, physical, page, page);
  Queue queue(context);
  const auto sent = noise(2 * page, 3);
  write(queue, context, whole.data(), sent);
  expect_bytes("the second page", std::span(sent).subspan(page),
               read_bytes(queue, context, second_page.data(), page), context.device());
}

PROCTOR_CHECK(Virtual, UnmappedMemoryKeepsItsBytes, "M40", kVirtual, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const Physical physical(context, page);
  Queue queue(context);
  const auto sent = noise(page, 4);
  step("given a page that is unmapped and mapped elsewhere");
  {
    const Mapping mapping(context, physical, 0, page);
    write(queue, context, mapping.data(), sent);
  }
  const Mapping again(context, physical, 0, page);
  expect_bytes("the new mapping", sent, read_bytes(queue, context, again.data(), page), context.device());
}

}  // namespace proctor::accel
