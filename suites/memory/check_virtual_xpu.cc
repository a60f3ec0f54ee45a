// Checks of Level Zero virtual memory: reservations of addresses, physical memory, and mappings between them.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
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

// Reserves addresses. Null lets the driver choose the address. The validation layer of loader 1.8 refuses null;
// then several addresses are requested in turn.
void* reserve(ze_context_handle_t context, std::size_t bytes) {
  void* pointer = nullptr;
  const Status status = ZE_CALL(zeVirtualMemReserve, context, nullptr, bytes, &pointer);
  for (std::uintptr_t hint = 1; status.code() == ZE_RESULT_ERROR_INVALID_NULL_POINTER && hint <= 7; ++hint) {
    void* const start = reinterpret_cast<void*>(hint << 44);
    if (ZE_CALL(zeVirtualMemReserve, context, start, bytes, &pointer).ok()) return pointer;
  }
  status.or_throw();
  return pointer;
}
void* reserve(const Context& context, std::size_t bytes) { return reserve(native(context), bytes); }

// A reservation of addresses, mapped to `bytes` of physical memory from its byte `offset` on.
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

// Maps a page at two addresses and unmaps both.
PROCTOR_HELPER(map_twice) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  bool can = false;
  {
    const Physical physical(context, page);
    const Mapping first(context, physical, 0, page);
    void* const second = reserve(context, page);
    can = ZE_CALL(zeVirtualMemMap, native(context), second, page, physical.handle(), 0,
                  ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
              .ok();
    if (can) ZE_CALL(zeVirtualMemUnmap, native(context), second, page).or_throw();
    ZE_CALL(zeVirtualMemFree, native(context), second, page).or_throw();
  }
  suite::answer({{"can", can}});
}

// The specification does not state that mapped memory can be mapped at another address as well. Some drivers
// refuse it. Intel's driver up to 26.18 accepts it, and crashes when the second mapping ends. A second process
// therefore tries it.
bool can_map_twice() {
  suite::Helper helper("map_twice");
  const auto answer = helper.try_answer();
  expect_true(!helper.finish().hung, "an attempt to map memory twice does not hang");
  if (answer && answer->contains("skip")) suite::skip(answer->at("skip"));
  if (answer && answer->contains("error")) suite::fail_because("helper_error", answer->at("error"));
  return answer && answer->value("can", false);
}

// Three adjacent pages, each with its own physical memory.
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

// Sets the access of three pages by one call. Then a kernel reads or writes the selected page ("read" or "write").
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
  if (status.ok()) status = queue.try_synchronize(kPatience);
  const Status device = context.device().try_status();
  suite::answer({{"ok", status.ok() && device.ok()}, {"status", status.name()}});
  _exit(0);  // The device may be lost, so nothing is cleaned up.
}

// Stores to an unmapped address.
PROCTOR_HELPER(store_to_nobody) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  Status status =
      queue.try_launch(Kernel(module, "store_at"), groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (status.ok()) status = queue.try_synchronize(kPatience);
  suite::answer({{"ok", status.ok() && context.device().try_status().ok()}});
  _exit(0);  // The device may be lost, so nothing is cleaned up.
}

// The result of a helper that accesses memory. On hardware the driver may end the process of a page fault: this
// counts as a refused access.
nlohmann::json access_of(suite::Helper& helper) {
  if (suite::on_simgpu()) return helper.answer();
  const auto answer = helper.try_answer();
  expect_true(!helper.finish().hung, "the access does not hang");
  if (!answer)
    return {{"ok", false}, {"around", true}, {"lost", false}, {"status", "the end of its process"}};
  if (answer->contains("skip")) suite::skip(answer->at("skip"));
  return *answer;
}

// Skips the check if the device ignores accesses to unmapped memory, because it then also ignores forbidden ones.
void need_page_faults() {
  suite::Helper helper("store_to_nobody");
  need(!access_of(helper).at("ok").get<bool>(), "unsupported:page_faults");
}

// Loses the device by a store to a page without access. Sends the results of calls that need the device.
PROCTOR_HELPER(lose_device) {
  const auto context = leased();
  Queue queue(context);
  const ThreePages pages(context);
  const Module module = Module::load(context, "basic");
  const auto from = device_copy(queue, context, noise(4096, 5));
  pages.set_access(0, 3, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
  Status status =
      queue.try_launch(Kernel(module, "copy"), cover(4096, 64), arguments(pages.data(0), from.data(), 4096u));
  if (status.ok()) status = queue.try_synchronize(kPatience);
  const auto device = native(context.device());
  const ze_context_handle_t ze_context = native(context);
  constexpr ze_device_mem_alloc_desc_t kDevice = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  constexpr ze_host_mem_alloc_desc_t kHost = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  ze_physical_mem_desc_t physical{};
  physical.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  physical.size = pages.page;
  void* pointer = nullptr;
  ze_physical_mem_handle_t made = nullptr;
  std::uint64_t host = 0, ticks = 0;
  auto answers = nlohmann::json::array();
  for (const Status& answer :
       {ZE_CALL(zeDeviceGetStatus, device), ZE_CALL(zeContextGetStatus, ze_context),
        ZE_CALL(zeMemAllocDevice, ze_context, &kDevice, 4096, 0, device, &pointer),
        ZE_CALL(zeMemAllocShared, ze_context, &kDevice, &kHost, 4096, 0, device, &pointer),
        ZE_CALL(zePhysicalMemCreate, ze_context, device, &physical, &made),
        ZE_CALL(zeContextSystemBarrier, ze_context, device),
        ZE_CALL(zeContextMakeMemoryResident, ze_context, device, from.data(), 4096),
        ZE_CALL(zeDeviceGetGlobalTimestamps, device, &host, &ticks)})
    answers.push_back({answer.call(), answer.name()});
  suite::answer({{"lost", !context.device().try_status().ok() || !status.ok()}, {"answers", answers}});
  _exit(0);  // The device may be lost, so nothing is cleaned up.
}

}  // namespace

PROCTOR_CHECK(VirtualMemory, PageSizeIsPowerOfTwo, "M40", kVirtual, kGate, {"alloc.understate_page_size"}) {
  const auto context = leased();
  step("given the page size of a small range");
  const std::size_t page = page_size(context);
  expect_true(page >= 4096 && (page & (page - 1)) == 0,
              "the page size is a power of two of at least 4096, got " + std::to_string(page));
}

PROCTOR_CHECK(VirtualMemory, MappedMemoryKeepsContents, "M40", kVirtual, kGate,
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

PROCTOR_CHECK(VirtualMemory, TwoMappingsShareContents, "M40", kVirtual, kGate, {"alloc.mapping_not_shared"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  need(can_map_twice(), "unsupported:second_mapping");
  step("given one page at two addresses, written through the first");
  const Physical physical(context, page);
  const Mapping first(context, physical, 0, page);
  const Mapping second(context, physical, 0, page);
  Queue queue(context);
  const auto sent = noise(page, 2);
  write(queue, context, first.data(), sent);
  expect_bytes("the second address", sent, read_bytes(queue, context, second.data(), page), context.device());
}

PROCTOR_CHECK(VirtualMemory, OffsetSelectsPhysicalPage, "M40", kVirtual, kGate,
              {"alloc.map_offset_ignored"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  step("given a mapping of the second of two pages, of which both were written before");
  const Physical physical(context, 2 * page);
  Queue queue(context);
  const auto sent = noise(2 * page, 3);
  {
    const Mapping whole(context, physical, 0, 2 * page);
    write(queue, context, whole.data(), sent);
  }
  const Mapping second_page(context, physical, page, page);
  expect_bytes("the second page", std::span(sent).subspan(page),
               read_bytes(queue, context, second_page.data(), page), context.device());
}

// The check makes three reservations of three pages each. Intel's driver keeps one access for a reservation. The
// gate therefore does not require "page access attributes to apply to the virtual address range"
// (zeVirtualMemSetAccessAttribute) for a part of one.
PROCTOR_CHECK(VirtualMemory, EveryReservationReportsOwnAccess, "M40", kAttribute, kGate,
              {"alloc.set_first_access_only"}) {
  const auto context = leased();
  const ThreePages reservations[3] = {ThreePages(context), ThreePages(context), ThreePages(context)};
  for (const auto& access : kAccesses) {
    for (std::size_t meant = 0; meant < 3; ++meant) {
      step("given the three pages of reservation " + std::to_string(meant) + ": " + access.name);
      for (const ThreePages& each : reservations) each.set_access(0, 3, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
      reservations[meant].set_access(0, 3, access.attribute);
      for (std::size_t i = 0; i < 9; ++i)
        expect_same("access of page " + std::to_string(i % 3) + " of reservation " + std::to_string(i / 3),
                    i / 3 == meant ? access.name : "read and write",
                    name_of(reservations[i / 3].access(i % 3)));
    }
  }
}

// Like AccessIsThatOfEveryPageMeant, within one reservation and by the same sentence of the specification.
PROCTOR_CHECK(VirtualMemory, EveryPageReportsOwnAccess, "M40", kAttribute, suite::kWarn,
              {"alloc.set_first_access_only"}) {
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

// Three pages have every combination of accesses. From each page on, the call must return the number of bytes with
// equal access, limited to the requested size.
PROCTOR_CHECK(VirtualMemory, AccessQueryReturnsUniformRange, "M40",
              "Level Zero specification, zeVirtualMemGetAccessAttribute", suite::kWarn,
              {"alloc.set_first_access_only"}) {
  const auto context = leased();
  const ThreePages pages(context);
  for (const std::size_t pattern : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    const auto access_of = [pattern](std::size_t page) { return kAccesses[1 + (pattern >> page & 1)]; };
    step("given pattern " + std::to_string(pattern) +
         (pattern == 0 ? ", set by one call" : ", set page by page"));
    if (pattern == 0) pages.set_access(0, 3, access_of(0).attribute);
    for (std::size_t i = 0; pattern != 0 && i < 3; ++i) pages.set_access(i, 1, access_of(i).attribute);
    for (std::size_t first = 0; first < 3; ++first) {
      for (std::size_t asked = 1; first + asked <= 3; ++asked) {
        step("given pattern " + std::to_string(pattern) + ", " + std::to_string(asked) + " pages from page " +
             std::to_string(first) + " on");
        std::size_t alike = 1;
        while (alike < asked && access_of(first + alike).attribute == access_of(first).attribute) ++alike;
        ze_memory_access_attribute_t attribute{};
        std::size_t bytes = 0;
        ZE_CALL(zeVirtualMemGetAccessAttribute, native(context), pages.data(first), asked * pages.page,
                &attribute, &bytes)
            .or_throw();
        expect_same("access", access_of(first).name, name_of(attribute));
        expect_same("pages alike", std::to_string(alike * pages.page), std::to_string(bytes));
      }
    }
  }
}

// Each function refuses zero bytes. The functions with "Size must be page aligned" in their list of codes also
// refuse a part of a page. The other functions have "must be page aligned" at the parameter, and no code for it.
PROCTOR_CHECK(
    VirtualMemory, UnalignedSizeIsRejected, "M40",
    "Level Zero specification, zeVirtualMemReserve and its neighbours: ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
    suite::kWarn, {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const Physical physical(context, 2 * page);
  const Mapping mapping(context, physical, 0, 2 * page);
  void* const free_range = reserve(context, 2 * page);
  const char* const unsupported = "ZE_RESULT_ERROR_UNSUPPORTED_SIZE";
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page - 1, page + 1, page / 2}) {
    step("given " + std::to_string(bytes) + " bytes, where a page has " + std::to_string(page));
    expect_status(unsupported, ZE_CALL(zeVirtualMemUnmap, native(context), mapping.data(), bytes));
    expect_status(unsupported, ZE_CALL(zeVirtualMemSetAccessAttribute, native(context), mapping.data(), bytes,
                                       ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
    ze_memory_access_attribute_t attribute{};
    std::size_t alike = 0;
    expect_status(unsupported, ZE_CALL(zeVirtualMemGetAccessAttribute, native(context), mapping.data(), bytes,
                                       &attribute, &alike));
  }
  step("given zero bytes to reserve, create, map and free, and an offset inside a page");
  std::size_t bytes = 0;
  void* reserved = nullptr;
  const Status answer = ZE_CALL(zeVirtualMemReserve, native(context), nullptr, 0, &reserved);
  need_valid_to_the_layer(answer);
  expect_status(unsupported, answer);
  ze_physical_mem_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  ze_physical_mem_handle_t made = nullptr;
  expect_status(unsupported,
                ZE_CALL(zePhysicalMemCreate, native(context), native(context.device()), &description, &made));
  expect_status(unsupported, ZE_CALL(zeVirtualMemMap, native(context), free_range, 0, physical.handle(), 0,
                                     ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  expect_status(unsupported, ZE_CALL(zeVirtualMemFree, native(context), free_range, 0));
  expect_status(unsupported,
                ZE_CALL(zeVirtualMemQueryPageSize, native(context), native(context.device()), 0, &bytes));
  for (const std::size_t offset : {std::size_t{1}, page - 1, page + 1})
    expect_status("ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT",
                  ZE_CALL(zeVirtualMemMap, native(context), free_range, page, physical.handle(), offset,
                          ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  expect_status(kSuccess, ZE_CALL(zeVirtualMemFree, native(context), free_range, 2 * page));
}

// Mapped physical memory cannot be destroyed. After it is unmapped, the refused call must succeed.
PROCTOR_CHECK(PhysicalMemory, DestroyWhileMappedIsRejected, "M40",
              "Level Zero specification, zePhysicalMemDestroy: ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE",
              suite::kWarn, {"error.wrong_code", "error.swallowed"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  ze_physical_mem_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  description.size = page;
  ze_physical_mem_handle_t physical = nullptr;
  ZE_CALL(zePhysicalMemCreate, native(context), native(context.device()), &description, &physical).or_throw();
  void* const pointer = reserve(context, page);
  ZE_CALL(zeVirtualMemMap, native(context), pointer, page, physical, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
      .or_throw();
  const char* const in_use = "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE";
  step("given memory that is still mapped");
  const Status destroyed = ZE_CALL(zePhysicalMemDestroy, native(context), physical);
  expect_status(in_use, destroyed);
  if (destroyed.ok()) return;  // nothing of it may be used again
  step("given memory that is no longer mapped");
  expect_status(kSuccess, ZE_CALL(zeVirtualMemUnmap, native(context), pointer, page));
  expect_status(kSuccess, ZE_CALL(zePhysicalMemDestroy, native(context), physical));
  expect_status(kSuccess, ZE_CALL(zeVirtualMemFree, native(context), pointer, page));
}

// A flag of a newer interface selects the location. Older drivers refuse it. The memory of the device is mapped
// and written, because the specification does not state that it takes anything before its first use.
PROCTOR_CHECK(PhysicalMemory, PlacementFollowsFlags, "M40",
              "Level Zero specification, ze_physical_mem_flag_t", suite::kWarn,
              {"sysman.freeze_free_memory", "alloc.leak_on_free"}) {
  const auto context = leased();
  need_memory(context.device(), kHeld);
  const Buffer counted = need_counted_memory(context);
  Queue queue(context);
  struct Place {
    const char* name;
    ze_physical_mem_flags_t flags;
    bool on_device;
  };
  for (const Place& place :
       {Place{"no place", 0, true}, Place{"the device", 0x1, true}, Place{"the host", 0x2, false}}) {
    ze_physical_mem_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    description.size = kHeld;
    description.flags = place.flags;
    const std::uint64_t before = context.device().memory().free;
    step(std::string("given memory that was requested on ") + place.name);
    ze_physical_mem_handle_t physical = nullptr;
    const Status made =
        ZE_CALL(zePhysicalMemCreate, native(context), native(context.device()), &description, &physical);
    if (place.flags != 0 && (made.unsupported() || made.code() == ZE_RESULT_ERROR_INVALID_ENUMERATION))
      continue;
    made.or_throw();
    void* const pointer = reserve(context, kHeld);
    if (place.on_device) {
      ZE_CALL(zeVirtualMemMap, native(context), pointer, kHeld, physical, 0,
              ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
          .or_throw();
      write(queue, context, pointer, noise(4096, 1));
    }
    const std::uint64_t during = context.device().memory().free;
    if (place.on_device) {
      expect_true(during + kHeld <= before + kFreeSlack, "the device has 320 MiB less");
      ZE_CALL(zeVirtualMemUnmap, native(context), pointer, kHeld).or_throw();
    } else {
      expect_true(during + kFreeSlack >= before, "the device has as much as before");
    }
    ZE_CALL(zeVirtualMemFree, native(context), pointer, kHeld).or_throw();
    ZE_CALL(zePhysicalMemDestroy, native(context), physical).or_throw();
    expect_returned(context.device(), before);
  }
}

namespace {

struct MappingFacts {
  ze_memory_type_t type;
  ze_device_handle_t device;
};

MappingFacts mapping_facts(const Context& context, const void* pointer) {
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ze_device_handle_t device = nullptr;
  ZE_CALL(zeMemGetAllocProperties, native(context), pointer, &properties, &device).or_throw();
  return {properties.type, device};
}

}  // namespace

// Memory of a card is on one of its tiles. The driver may report either the card or the tile.
PROCTOR_CHECK(VirtualMemory, MappingReportsTypeAndDevice, "M40",
              "Level Zero specification, zeMemGetAllocProperties", suite::kWarn, {"alloc.wrong_type"}) {
  const Device card = leased_device();
  auto devices = card.tiles();
  devices.push_back(card);
  for (const Device& device : devices) {
    const Context context(device);
    const std::size_t page = page_size(context);
    const Physical physical(context, page);
    const Mapping mapping(context, physical, 0, page);
    void* const unmapped = reserve(context, page);
    step("given memory of " + describe(device));
    const MappingFacts reported = mapping_facts(context, mapping.data());
    expect_same("type of a mapping", std::to_string(ZE_MEMORY_TYPE_DEVICE), std::to_string(reported.type));
    bool right = reported.device == native(device);
    for (const Device& tile : device.tiles()) right = right || reported.device == native(tile);
    expect_true(right, "the device of the mapping is the requested one");
    expect_same("type of addresses without memory", std::to_string(ZE_MEMORY_TYPE_UNKNOWN),
                std::to_string(mapping_facts(context, unmapped).type));
    ZE_CALL(zeVirtualMemFree, native(context), unmapped, page).or_throw();
  }
}

namespace {

// Tries each access in a separate process. A refused access loses the device of that process.
void expect_enforced(const std::string& how, std::span<const NamedAccess> allowed) {
  for (std::size_t i = 0; i < std::size(kAccesses); ++i) {
    const auto is_it = [&](const NamedAccess& each) { return each.attribute == kAccesses[i].attribute; };
    const bool may = std::any_of(allowed.begin(), allowed.end(), is_it);
    for (const char* page : {"0", "2"}) {
      step("given a kernel that would " + how + " page " + page + " of three: " + kAccesses[i].name);
      suite::Helper user("use_mapped_page", {std::to_string(i), page, how});
      const auto answer = access_of(user);
      expect_true(answer.at("ok").get<bool>() == may,
                  std::string(may ? "the kernel may" : "the kernel may not") + " access it, and ends with " +
                      answer.at("status").get<std::string>());
    }
  }
}

}  // namespace

// Products differ in whether the device can distinguish a forbidden write from a read in time. The check is
// therefore not a gate.
PROCTOR_CHECK(VirtualMemory, WritesNeedWriteAccess, "M40", kAttribute, suite::kWarn,
              {"alloc.allow_write_to_readonly"}) {
  need_page_faults();
  expect_enforced("write", std::span(kAccesses).subspan(2));
}

PROCTOR_CHECK(VirtualMemory, ReadsNeedReadAccess, "M40", kAttribute, suite::kWarn,
              {"kernel.hide_out_of_bounds_access:kernel=copy"}) {
  need_page_faults();
  expect_enforced("read", std::span(kAccesses).subspan(1));
}

namespace {

// Changes the access of the middle of three pages that are mapped by one call. A kernel writes the bytes around
// it, and then reads or writes one byte.
PROCTOR_HELPER(use_part_of_a_mapping) {
  const auto context = leased();
  Queue queue(context);
  const std::size_t page = page_size(context);
  const Physical physical(context, 3 * page);
  const Mapping mapping(context, physical, 0, 3 * page);
  const Module module = Module::load(context, "basic");
  const Kernel copy(module, "copy");
  const auto other = device_copy(queue, context, noise(page, 5));
  std::byte* const pages = static_cast<std::byte*>(mapping.data());
  ZE_CALL(zeVirtualMemSetAccessAttribute, native(context), pages + page, page,
          kAccesses[std::stoul(words.at(0))].attribute)
      .or_throw();
  const auto run = [&](const std::byte* from, std::byte* to, std::size_t bytes) {
    const auto count = static_cast<std::uint32_t>(bytes);
    Status status = queue.try_launch(copy, cover(count, 64), arguments(from, to, count));
    return status.ok() ? queue.try_synchronize(kPatience) : status;
  };
  bool around = true;
  for (const std::size_t end : {page, 2 * page + 64, 3 * page})
    around = around && run(other.data(), pages + end - 64, 64).ok();
  std::byte* const byte = pages + (words.at(1) == "first"  ? page
                                   : words.at(1) == "last" ? 2 * page - 1
                                                           : 3 * page);
  Status status;  // A lost device runs no further work.
  if (around) status = words.at(2) == "read" ? run(byte, other.data(), 1) : run(other.data(), byte, 1);
  const Status device = context.device().try_status();
  suite::answer(
      {{"around", around}, {"ok", around && status.ok() && device.ok()}, {"status", status.name()}});
  _exit(0);  // The device may be lost, so nothing is cleaned up.
}

struct PartCase {
  std::size_t access;  // index of kAccesses
  const char* place;
  const char* how;
  bool may;
};
constexpr PartCase kPartCases[] = {{0, "first", "write", false}, {0, "last", "read", false},
                                   {1, "first", "read", true},   {1, "last", "write", false},
                                   {2, "last", "write", true},   {2, "beyond", "write", false}};

}  // namespace

PROCTOR_CHECK(VirtualMemory, AccessOfMiddlePageIsEnforced, "M40", kAttribute, suite::kWarn,
              {"alloc.allow_write_to_readonly"}) {
  need_page_faults();
  for (const PartCase& part : kPartCases) {
    step(std::string("given a kernel that would ") + part.how + " the " + part.place +
         " byte of the middle of three pages of one mapping: " + kAccesses[part.access].name);
    suite::Helper user("use_part_of_a_mapping", {std::to_string(part.access), part.place, part.how});
    const auto answer = access_of(user);
    expect_true(answer.at("around").get<bool>(), "the pages around it are written");
    expect_true(answer.at("ok").get<bool>() == part.may,
                std::string(part.may ? "the kernel may" : "the kernel may not") +
                    " access it, and ends with " + answer.at("status").get<std::string>());
  }
}

// A driver may detect the loss later, and some calls need no device. The check is therefore not a gate.
PROCTOR_CHECK(LostDevice, EveryCallReturnsDeviceLost, "M55",
              "Level Zero specification, ZE_RESULT_ERROR_DEVICE_LOST of each function", suite::kWarn,
              {"state.report_lost_device_healthy"}) {
  step("given a process that has lost its device");
  suite::Helper loser("lose_device", {});
  const auto answer = access_of(loser);
  need(answer.at("lost").get<bool>(), "unsupported:access_attributes");
  for (const auto& call : answer.at("answers")) {
    // A driver may lack zeContextSystemBarrier.
    if (call.at(0) == "zeContextSystemBarrier" && call.at(1) == "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE")
      continue;
    expect_same(call.at(0).get<std::string>() + " answers", "ZE_RESULT_ERROR_DEVICE_LOST",
                call.at(1).get<std::string>());
  }
}

// A second map or free is refused. The specification does not cover a second unmap.
PROCTOR_CHECK(VirtualMemory, RepeatedMapOrFreeIsRejected, "M40", kVirtual, suite::kWarn,
              {"error.swallowed"}) {
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
  step("given a range that was freed");
  expect_status(kSuccess, ZE_CALL(zeVirtualMemFree, native(context), pointer, page));
  expect_refused("freeing it again", ZE_CALL(zeVirtualMemFree, native(context), pointer, page));
  expect_refused("mapping it", ZE_CALL(zeVirtualMemMap, native(context), pointer, page, physical.handle(), 0,
                                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
}

PROCTOR_CHECK(PhysicalMemory, UnmapKeepsContents, "M40", kVirtual, kGate,
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

namespace {

// A reservation of addresses that ends with this object. The code that maps memory in it must unmap that memory.
class Reserved {
 public:
  Reserved(const Context& context, std::size_t bytes, void* hint = nullptr)
      : context_(context), bytes_(bytes) {
    if (hint == nullptr) {
      pointer_ = reserve(context, bytes);
    } else {
      ZE_CALL(zeVirtualMemReserve, native(context), hint, bytes, &pointer_).or_throw();
    }
  }
  ~Reserved() {
    if (pointer_ != nullptr) entry_points().zeVirtualMemFree(native(context_), pointer_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(pointer_) + offset; }
  Status try_free() {
    const Status status = ZE_CALL(zeVirtualMemFree, native(context_), pointer_, bytes_);
    if (status.ok()) pointer_ = nullptr;
    return status;
  }
  Status try_map(std::size_t offset, std::size_t bytes, const Physical& physical, std::size_t from) const {
    return ZE_CALL(zeVirtualMemMap, native(context_), at(offset), bytes, physical.handle(), from,
                   ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
  }
  Status try_unmap(std::size_t offset, std::size_t bytes) const {
    return ZE_CALL(zeVirtualMemUnmap, native(context_), at(offset), bytes);
  }
  // For unmapped pages, a driver may report no access, or refuse the query.
  void expect_no_access(std::size_t offset, std::size_t page) const {
    auto attribute = ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
    std::size_t alike = 0;
    const Status status =
        ZE_CALL(zeVirtualMemGetAccessAttribute, native(context_), at(offset), page, &attribute, &alike);
    if (status.ok()) expect_same("access where nothing is mapped", "none", name_of(attribute));
  }

 private:
  Context context_;
  std::size_t bytes_;
  void* pointer_ = nullptr;
};

}  // namespace

// Tries every edge of the three ranges that a mapping must fit into: the reservation, the physical memory, and the
// free range between other mappings. The specification does not cover an unmap of more than is mapped.
PROCTOR_CHECK(VirtualMemory, MappingBeyondBoundsIsRejected, "M40", kVirtual, suite::kWarn,
              {"error.swallowed"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  Reserved range(context, 4 * page);
  const Physical physical(context, 2 * page), second(context, 2 * page), third(context, 2 * page);
  step("given mappings that reach beyond their physical memory");
  expect_refused("three pages of two", range.try_map(0, 3 * page, physical, 0));
  expect_refused("two pages after the first of two", range.try_map(0, 2 * page, physical, page));
  expect_refused("a page after the last", range.try_map(0, page, physical, 2 * page));
  step("given mappings that reach out of their reservation, or begin within a page");
  expect_refused("two pages from the last on", range.try_map(3 * page, 2 * page, physical, 0));
  expect_refused("a page after the last", range.try_map(4 * page, page, physical, 0));
  expect_refused("a page from the middle of one on", range.try_map(page / 2, page, physical, 0));
  expect_refused("an access to the last page and one after it",
                 ZE_CALL(zeVirtualMemSetAccessAttribute, native(context), range.at(3 * page), 2 * page,
                         ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
  step("given a mapping that ends where the reservation and the physical memory end");
  expect_status(kSuccess, range.try_map(2 * page, 2 * page, physical, 0));
  step("given mappings that overlap it");
  expect_refused("two pages, of which the second is taken", range.try_map(page, 2 * page, physical, 0));
  expect_refused("two pages, which are taken", range.try_map(2 * page, 2 * page, physical, 0));
  expect_refused("a page, which is taken", range.try_map(3 * page, page, physical, 0));
  range.expect_no_access(page, page);
  step("given mappings that end where it begins, and where the reservation begins");
  expect_status(kSuccess, range.try_map(page, page, second, page));
  expect_status(kSuccess, range.try_map(0, page, third, page));
  step("given that each is unmapped again");
  expect_status(kSuccess, range.try_unmap(0, page));
  range.expect_no_access(0, page);
  expect_status(kSuccess, range.try_unmap(2 * page, 2 * page));
  range.expect_no_access(2 * page, page);
  range.expect_no_access(3 * page, page);
  expect_status(kSuccess, range.try_unmap(page, page));
  expect_status(kSuccess, range.try_free());
}

// The specification does not state which of these calls are refused, and by which code. The check is therefore not
// a gate.
PROCTOR_CHECK(VirtualMemory, AdjacentReservationsAreIndependent, "M40", kVirtual, suite::kWarn,
              {"error.swallowed"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const Physical physical(context, page);
  std::byte* start = nullptr;
  {
    const Reserved room(context, 8 * page);
    start = room.at(0);
  }
  Reserved first(context, 2 * page, start), second(context, 2 * page, start + 2 * page);
  need(first.at(0) == start && second.at(0) == start + 2 * page, "unsupported:wished_addresses");
  step("given two reservations side by side, and a mapping at the begin of the second");
  expect_status(kSuccess, second.try_map(0, page, physical, 0));
  expect_refused("a mapping that reaches over both", first.try_map(page, 2 * page, physical, 0));
  expect_status(kSuccess, first.try_free());
  Queue queue(context);
  const auto sent = noise(page, 8);
  write(queue, context, second.at(0), sent);
  expect_bytes("bytes of the mapping in the second", sent, read_bytes(queue, context, second.at(0), page),
               context.device());
  step("given that the second is freed with its mapping, which the driver unmaps then");
  expect_status(kSuccess, second.try_free());
}

// Physical memory takes memory, at its first use at the latest; the place of its mapping does not matter. On
// hardware a slack is allowed, and the driver may release memory of an earlier check. The check therefore runs in
// a process of its own.
PROCTOR_CHECK(PhysicalMemory, MemoryIsCountedOnce, "M17",
              "Level Zero specification, zePhysicalMemCreate, zesMemoryGetState", kGate,
              .faults = {"sysman.freeze_free_memory", "alloc.leak_on_free"}, .alone = true) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  need_memory(context.device(), kHeld);
  const Buffer counted = need_counted_memory(context);
  const bool twice_too = can_map_twice();
  const std::size_t bytes = kHeld / page * page;
  const std::uint64_t slack = suite::on_simgpu() ? 0 : kFreeSlack;
  const auto free = [&] { return context.device().memory().free; };
  const auto expect_taken = [&](std::uint64_t before, std::uint64_t taken) {
    const std::uint64_t fallen = before - std::min(before, free());
    expect_true(fallen + slack >= taken && fallen <= taken + slack,
                "of " + std::to_string(before) + " bytes " + std::to_string(taken) + " are used, got " +
                    std::to_string(fallen));
  };
  const std::uint64_t before = free();
  {
    const Physical physical(context, bytes);
    step("given physical memory, mapped once, twice if the driver supports it, and then not at all");
    {
      const Mapping once(context, physical, 0, bytes);
      Queue queue(context);
      write(queue, context, once.data(), noise(4096, 1));
      expect_taken(before, bytes);
      std::optional<Mapping> twice;
      if (twice_too) twice.emplace(context, physical, 0, bytes);
      expect_taken(before, bytes);
    }
    expect_taken(before, bytes);
  }
  step("given that it is destroyed");
  if (suite::on_simgpu()) expect_taken(before, 0);
  expect_returned(context.device(), before);
}

// A driver may reuse freed memory, which does not count as free. The check therefore runs in a process of its own.
PROCTOR_CHECK(PhysicalMemory, CreationFailsBeyondDeviceMemory, "M06",
              "Level Zero specification, zePhysicalMemCreate", suite::kWarn,
              .faults = {"alloc.capacity_ignored"}, .alone = true) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  const auto tiles = context.device().tiles();
  const Device device = tiles.empty() ? context.device() : tiles.back();
  const std::uint64_t free = device.memory().free / page * page;
  const auto try_create = [&](std::uint64_t bytes) {
    ze_physical_mem_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    description.size = bytes;
    ze_physical_mem_handle_t handle = nullptr;
    const Status status =
        ZE_CALL(zePhysicalMemCreate, native(context), native(device), &description, &handle);
    if (status.ok()) ZE_CALL(zePhysicalMemDestroy, native(context), handle).or_throw();
    return status;
  };
  step("given physical memory of all that is free, or of three quarters of it on hardware");
  expect_status(kSuccess, try_create(suite::on_simgpu() ? free : free / 4 / page * 3 * page));
  for (const std::uint64_t bytes : {device.memory().total + page, std::uint64_t{1} << 50}) {
    step("given " + std::to_string(bytes) + " bytes, which the device does not have");
    expect_refused("creating it", try_create(bytes));
  }
  const Buffer taken(context, {.bytes = page, .device = device});
  step("given one page more than is free");
  if (suite::on_simgpu()) expect_refused("creating it", try_create(free));
}

// Host memory that is mapped at an address of the device. This feature is newer than version 1.4 of the interface.
PROCTOR_CHECK(VirtualMemory, HostAndDeviceShareHostMemory, "M40",
              "Level Zero specification, ze_physical_mem_flag_t: ALLOCATE_ON_HOST", suite::kWarn,
              {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  const auto context = leased();
  const std::size_t page = page_size(context);
  ze_physical_mem_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
  description.flags = 2;
  description.size = 2 * page;
  ze_physical_mem_handle_t physical = nullptr;
  const std::uint64_t free = context.device().memory().free;
  const Status made =
      ZE_CALL(zePhysicalMemCreate, native(context), native(context.device()), &description, &physical);
  need_valid_to_the_layer(made);
  need(made.ok() || suite::on_simgpu(), "unsupported:physical_memory_of_the_host");
  made.or_throw();
  Queue queue(context);
  const auto first = noise(2 * page, 9), second = noise(page, 10);
  std::vector<std::byte> together = first;
  std::copy(second.begin(), second.end(), together.begin() + static_cast<std::ptrdiff_t>(page));
  step("given two pages of the host's memory, mapped");
  if (suite::on_simgpu())
    expect_same("free memory of the device", std::to_string(free),
                std::to_string(context.device().memory().free));
  const Reserved range(context, 3 * page);
  const auto map = [&](std::size_t offset, std::size_t bytes, std::size_t from) {
    ZE_CALL(zeVirtualMemMap, native(context), range.at(offset), bytes, physical, from,
            ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
        .or_throw();
  };
  map(0, 2 * page, 0);
  std::copy(first.begin(), first.end(), range.at(0));
  expect_bytes("bytes of the host, read by the device", first,
               read_bytes(queue, context, range.at(0), 2 * page), context.device());
  write(queue, context, range.at(page), second);
  expect_bytes("bytes of the device, read by the host", together, {range.at(0), 2 * page}, context.device());
  expect_same("its kind", "host", to_string(pointer_info(context, range.at(2 * page - 1)).kind));
  step("given that the second page is mapped elsewhere");
  expect_status(kSuccess, range.try_unmap(0, 2 * page));
  map(2 * page, page, page);
  expect_bytes("the second page", second, {range.at(2 * page), page}, context.device());
  expect_status(kSuccess, range.try_unmap(2 * page, page));
  expect_status(kSuccess, ZE_CALL(zePhysicalMemDestroy, native(context), physical));
}

// "The implementation of this function may immediately free all Host and Device allocations associated with this
// context." A driver that frees some of them must free all, and none of another context. If a driver frees none,
// the check is skipped.
PROCTOR_CHECK(Context, DestroyReleasesAllMemory, "M17", "Level Zero specification, zeContextDestroy",
              suite::kWarn, {"alloc.leak_on_free", "sysman.freeze_free_memory"}) {
  const auto own = leased();
  const Buffer counted = need_counted_memory(own);
  const std::size_t page = page_size(own);
  const Device& device = own.device();
  const Buffer kept = device_memory(own, 3 * page);
  const std::uint64_t before = device.memory().free;
  const auto make = [&] {
    ze_context_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    ZE_CALL(zeContextCreate, driver_of(own), &description, &context).or_throw();
    return context;
  };
  const ze_context_handle_t context = make(), other = make();
  const auto take = [&](ze_context_handle_t of, std::size_t bytes) {
    const ze_device_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* pointer = nullptr;
    ZE_CALL(zeMemAllocDevice, of, &description, bytes, 0, native(device), &pointer).or_throw();
    // A driver may take memory when the allocation becomes resident.
    ZE_CALL(zeContextMakeMemoryResident, of, native(device), pointer, bytes).or_throw();
    ze_physical_mem_desc_t physical{};
    physical.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    physical.size = bytes;
    ze_physical_mem_handle_t handle = nullptr;
    ZE_CALL(zePhysicalMemCreate, of, native(device), &physical, &handle).or_throw();
    void* const start = reserve(of, bytes);
    ZE_CALL(zeVirtualMemMap, of, start, bytes, handle, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE).or_throw();
    return std::pair(handle, start);
  };
  step("given two contexts, and memory of which one part is freed before they end");
  const auto [ended, start] = take(context, 16 * page);
  ZE_CALL(zeVirtualMemFree, context, start, 16 * page).or_throw();
  ZE_CALL(zePhysicalMemDestroy, context, ended).or_throw();
  take(context, 48 * page);
  take(other, 32 * page);
  const std::uint64_t slack = suite::on_simgpu() ? 0 : kFreeSlack;
  const auto expect_free = [&](std::uint64_t bytes) {
    const std::uint64_t free = device.memory().free;
    expect_true(free + slack >= bytes && bytes + slack >= free,
                std::to_string(bytes) + " bytes are free, got " + std::to_string(free));
  };
  expect_free(before - 176 * page);
  step("given the end of one context, and then of the other");
  ZE_CALL(zeContextDestroy, context).or_throw();
  const std::uint64_t after_one = device.memory().free;
  const bool none_is_freed =
      after_one + slack < before - 64 * page && after_one <= before - 176 * page + slack;
  need(!none_is_freed, "unsupported:memory_freed_with_its_context");
  expect_free(before - 64 * page);
  ZE_CALL(zeContextDestroy, other).or_throw();
  expect_free(before);
  Queue queue(own);
  const auto sent = noise(kept.bytes(), 11);
  write(queue, own, kept.data(), sent);
  expect_bytes("memory of a third context", sent, read_bytes(queue, own, kept.data(), kept.bytes()), device);
}

}  // namespace proctor::accel
