// Addresses and memory apart: reservations, physical memory, mappings. Level Zero only.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kVirtual = "Level Zero specification, Virtual and Physical Memory";
constexpr const char* kAttribute = "Level Zero specification, zeVirtualMemSetAccessAttribute";

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

// Null lets the driver choose the address; the validation layer of loader 1.8 refuses it, so that it gets wishes instead.
void* reserve(const Context& context, std::size_t bytes) {
  void* pointer = nullptr;
  const Status status = ZE_CALL(zeVirtualMemReserve, native(context), nullptr, bytes, &pointer);
  for (std::uintptr_t wish = 1; status.code() == ZE_RESULT_ERROR_INVALID_NULL_POINTER && wish <= 7; ++wish) {
    void* const start = reinterpret_cast<void*>(wish << 44);
    if (ZE_CALL(zeVirtualMemReserve, native(context), start, bytes, &pointer).ok()) return pointer;
  }
  status.or_throw();
  return pointer;
}

// A range of addresses with `bytes` of physical memory behind it, from its byte `offset` on.
class Mapping {
 public:
  Mapping(const Context& context, const Physical& physical, std::size_t offset, std::size_t bytes)
      : context_(context), bytes_(bytes), pointer_(reserve(context, bytes)) {
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
  Context context_;
  std::size_t bytes_;
  void* pointer_ = nullptr;
};

// Three pages side by side, each with physical memory of its own.
class ThreePages {
 public:
  explicit ThreePages(const Context& context)
      : page(page_size(context)), context_(context), pointer_(reserve(context, 3 * page)) {
    for (std::size_t i = 0; i < 3; ++i) {
      physical_.push_back(std::make_unique<Physical>(context, page));
      ZE_CALL(zeVirtualMemMap, native(context), data(i), page, physical_[i]->handle(), 0,
              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
          .or_throw();
    }
  }
  ~ThreePages() {
    for (std::size_t i = 0; i < 3; ++i) entry_points().zeVirtualMemUnmap(native(context_), data(i), page);
    entry_points().zeVirtualMemFree(native(context_), pointer_, 3 * page);
  }
  ThreePages(const ThreePages&) = delete;
  ThreePages& operator=(const ThreePages&) = delete;

  std::byte* data(std::size_t i) const { return static_cast<std::byte*>(pointer_) + i * page; }
  void set_access(std::size_t first, std::size_t pages, ze_memory_access_attribute_t access) const {
    ZE_CALL(zeVirtualMemSetAccessAttribute, native(context_), data(first), pages * page, access).or_throw();
  }
  ze_memory_access_attribute_t access(std::size_t i) const {
    ze_memory_access_attribute_t attribute{};
    std::size_t alike = 0;
    ZE_CALL(zeVirtualMemGetAccessAttribute, native(context_), data(i), page, &attribute, &alike).or_throw();
    return attribute;
  }

  const std::size_t page;

 private:
  Context context_;
  void* pointer_ = nullptr;
  std::vector<std::unique_ptr<Physical>> physical_{};
};

struct NamedAccess {
  const char* name;
  ze_memory_access_attribute_t attribute;
};
constexpr NamedAccess kAccesses[] = {{"none", ZE_MEMORY_ACCESS_ATTRIBUTE_NONE},
                                     {"read only", ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY},
                                     {"read and write", ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE}};

const char* name_of(ze_memory_access_attribute_t attribute) {
  for (const auto& access : kAccesses)
    if (access.attribute == attribute) return access.name;
  return "another";
}

// Gives three pages an access by one call, and lets a kernel "read" or "write" the one that is meant.
PROCTOR_HELPER(use_mapped_page) {
  const auto context = leased();
  Queue queue(context);
  const ThreePages pages(context);
  const Module module = Module::load(context, "basic");
  const auto other = device_copy(queue, context, noise(4096, 5));
  const auto& access = kAccesses[std::stoul(words.at(0))];
  std::byte* const meant = pages.data(std::stoul(words.at(1)));
  write(queue, context, meant, noise(4096, 6));
  pages.set_access(0, 3, access.attribute);
  const bool reads = words.at(2) == "read";
  Status status =
      queue.try_launch(Kernel(module, "copy"), cover(4096, 64),
                       arguments(reads ? meant : other.data(), reads ? other.data() : meant, 4096u));
  if (status.ok()) status = queue.try_synchronize(std::chrono::seconds(5));
  const Status device = context.device().try_status();
  suite::answer({{"ok", status.ok() && device.ok()}, {"status", status.name()}});
  _exit(0);  // nothing that the driver still has is worth tidying up
}

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

PROCTOR_CHECK(Virtual, AccessIsThatOfEveryPageMeant, "M40", kAttribute, kGate, {"alloc.access_lost"}) {
  const auto context = leased();
  const ThreePages pages(context);
  for (const auto& access : kAccesses) {
    for (std::size_t first = 0; first < 3; ++first) {
      for (std::size_t count = 1; first + count <= 3; ++count) {
        step("given " + std::to_string(count) + " pages from page " + std::to_string(first) +
             " on: " + access.name);
        pages.set_access(0, 3, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
        pages.set_access(first, count, access.attribute);
        for (std::size_t i = 0; i < 3; ++i) {
          const bool meant = i >= first && i < first + count;
          expect_same("access of page " + std::to_string(i), meant ? access.name : "read and write",
                      name_of(pages.access(i)));
        }
      }
    }
  }
}

namespace {

// Each in a process of its own, whose device is lost where the access is refused.
void expect_enforced(const std::string& how, std::span<const NamedAccess> allowed) {
  for (std::size_t i = 0; i < std::size(kAccesses); ++i) {
    const auto is_it = [&](const NamedAccess& each) { return each.attribute == kAccesses[i].attribute; };
    const bool may = std::any_of(allowed.begin(), allowed.end(), is_it);
    for (const char* page : {"0", "2"}) {
      step("given a kernel that would " + how + " page " + page + " of three: " + kAccesses[i].name);
      suite::Helper user("use_mapped_page", {std::to_string(i), page, how});
      const auto answer = user.answer();
      expect_true(answer.at("ok").get<bool>() == may, std::string(may ? "it may" : "it may not") +
                                                          ", and ends with " +
                                                          answer.at("status").get<std::string>());
      user.finish();
    }
  }
}

}  // namespace

// Whether a device can tell a read from a write before it is too late, each product says for itself: no gate.
PROCTOR_CHECK(Virtual, WritesNeedAccess, "M40", kAttribute, suite::kWarn, {"alloc.access_unenforced"}) {
  expect_enforced("write", std::span(kAccesses).subspan(2));
}

PROCTOR_CHECK(Virtual, ReadsNeedAccess, "M40", kAttribute, suite::kWarn, {"kernel.fault_swallowed"}) {
  expect_enforced("read", std::span(kAccesses).subspan(1));
}

// Whoever unmaps, frees or destroys something a second time is refused.
PROCTOR_CHECK(Virtual, WhatHasEndedIsRefused, "M40", kVirtual, suite::kWarn, {"error.swallowed"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const Physical physical(context, page);
  void* const pointer = reserve(context, page);
  ZE_CALL(zeVirtualMemMap, native(context), pointer, page, physical.handle(), 0,
          ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
      .or_throw();
  step("given a range that is still mapped");
  expect_refused("mapping it again", ZE_CALL(zeVirtualMemMap, native(context), pointer, page,
                                             physical.handle(), 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  step("given a range that was unmapped");
  expect_status(kSuccess, ZE_CALL(zeVirtualMemUnmap, native(context), pointer, page));
  expect_refused("unmapping it again", ZE_CALL(zeVirtualMemUnmap, native(context), pointer, page));
  step("given a range that was freed");
  expect_status(kSuccess, ZE_CALL(zeVirtualMemFree, native(context), pointer, page));
  expect_refused("freeing it again", ZE_CALL(zeVirtualMemFree, native(context), pointer, page));
  expect_refused("mapping it", ZE_CALL(zeVirtualMemMap, native(context), pointer, page, physical.handle(), 0,
                                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
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
