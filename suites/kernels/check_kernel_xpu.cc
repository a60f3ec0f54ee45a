// Checks of the properties that a Level Zero kernel and its module report, against the source and against
// launches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kProperties = "Level Zero specification, ze_kernel_properties_t";
constexpr std::size_t kBehind = 8;  // bytes past a result, which the driver must not write
constexpr char kUnwritten = 0x5a;

ze_kernel_properties_t properties_of(const Kernel& kernel) {
  ze_kernel_properties_t properties;
  std::memset(&properties, kUnwritten, sizeof properties);
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  properties.pNext = nullptr;
  ZE_CALL(zeKernelGetProperties, native(kernel), &properties).or_throw();
  return properties;
}

// Reads a text with two calls. The first returns the size, including the terminating zero. The second is made with
// that size and with `more` bytes of room, and must write only the text.
template <typename Size, typename Get>
std::string text_by_two_calls(const std::string& what, std::size_t more, const Get& get) {
  Size needed = 0;
  get(&needed, nullptr).or_throw();
  expect_true(needed > 0, "the size of " + what + " includes the terminating zero");
  if (needed == 0) return "";
  std::string text;
  for (const std::size_t room : {std::size_t{needed}, needed + more}) {
    text.assign(needed + more + kBehind, kUnwritten);
    Size size = static_cast<Size>(room);
    get(&size, text.data()).or_throw();
    const std::string with_room = what + " with room for " + std::to_string(room) + " bytes";
    expect_same("size of " + with_room, std::to_string(needed), std::to_string(size));
    expect_same("bytes behind " + with_room, std::string(more + kBehind, kUnwritten), text.substr(needed));
    expect_same("position of the terminating zero of " + with_room, std::to_string(needed - 1),
                std::to_string(text.find('\0')));
  }
  return text.substr(0, needed - 1);
}

std::string name_of(const Kernel& kernel) {
  return text_by_two_calls<std::size_t>("the name", kBehind, [&](std::size_t* size, char* text) {
    return ZE_CALL(zeKernelGetName, native(kernel), size, text);
  });
}

std::string attributes_of(const Kernel& kernel) {
  return text_by_two_calls<std::uint32_t>("the source attributes", 0, [&](std::uint32_t* size, char* text) {
    const Status status =
        ZE_CALL(zeKernelGetSourceAttributes, native(kernel), size, text == nullptr ? nullptr : &text);
    need_valid_to_the_layer(status);
    return status;
  });
}

// Runs one launch of the kernel and returns the words that its work-items wrote.
std::vector<std::uint32_t> run_one_group(const Context& context, const Kernel& kernel, Launch launch) {
  Queue queue(context);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(64));
  queue.launch(kernel, launch, arguments(out));
  queue.synchronize();
  return read_as<std::uint32_t>(queue, context, out);
}

}  // namespace

PROCTOR_CHECK(Kernel, PropertiesMatchSource, "K19", kProperties, kGate, {"kernel.overstate_limits"}) {
  step("given kernels whose arguments and sizes are known");
  const auto context = leased();
  const Properties& device = context.device().properties();
  const struct {
    const char* module;
    const char* name;
    std::array<std::uint32_t, 6> facts;  // arguments, required group size, number and size of sub-groups
  } rows[] = {{"basic", "fill", {3, 0, 0, 0, 0, 0}},
              {"basic", "saxpy", {5, 0, 0, 0, 0, 0}},
              {"arguments", "many", {17, 0, 0, 0, 0, 0}},
              {"group_sizes", "group_8_4_2", {1, 8, 4, 2, 0, 0}},
              {"sub_group_8", "sub_group_8", {1, 0, 0, 0, 0, 8}},
              {"sub_group_16", "sub_group_16", {1, 0, 0, 0, 0, 16}},
              {"sub_group_32", "sub_group_32", {1, 0, 0, 0, 0, 32}}};
  for (const auto& row : rows) {
    const std::uint32_t lanes = row.facts[5];
    if (lanes != 0 && std::ranges::count(device.sub_group_sizes, lanes) == 0) {
      suite::record(std::string("left_out.") + row.name, fmt::format("unsupported:sub_group_size_{}", lanes));
      continue;
    }
    const Module module = Module::load(context, row.module);
    const auto said = properties_of(Kernel(module, row.name));
    expect_words(std::string("arguments, required group and sub-groups of ") + row.name,
                 std::vector(row.facts.begin(), row.facts.end()),
                 std::vector{said.numKernelArgs, said.requiredGroupSizeX, said.requiredGroupSizeY,
                             said.requiredGroupSizeZ, said.requiredNumSubGroups, said.requiredSubgroupSize},
                 context.device());
    expect_true(lanes != 0 ? said.maxSubgroupSize == lanes
                           : std::ranges::count(device.sub_group_sizes, said.maxSubgroupSize) == 1,
                fmt::format("sub-groups of {} can have {} work-items", row.name, said.maxSubgroupSize));
  }
}

PROCTOR_CHECK(Kernel, MemoryPropertiesMatchSource, "K19", kProperties, kWarn, {"kernel.skip:kernel=fill"}) {
  step("given a kernel that stores one word");
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  const auto said = properties_of(Kernel(module, "fill"));
  expect_words("local, private and spilled memory of a kernel that needs none", std::vector<std::uint32_t>(3),
               std::vector{said.localMemSize, said.privateMemSize, said.spillMemSize}, context.device());
  ze_kernel_uuid_t unwritten;
  std::memset(&unwritten, kUnwritten, sizeof unwritten);
  expect_true(std::memcmp(&unwritten, &said.uuid, sizeof unwritten) != 0,
              "the UUID of the kernel is written");
  step("given that it runs");
  Queue queue(context);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(4));
  queue.launch(Kernel(module, "fill"), groups_of(1, 4), arguments(out, 3u, 4u));
  queue.synchronize();
  expect_words("words that it stores", std::vector<std::uint32_t>(4, 3),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Kernel, NameMatchesModuleListing, "K01", "Level Zero specification, zeKernelGetName", kGate,
              {"kernel.omit_kernel_name"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  step("given every kernel that a module lists");
  std::vector<std::string> names = module.kernel_names();
  for (const std::string& name : names) expect_same("its name", name, name_of(Kernel(module, name)));
  expect_same("kernels of the module", "8", std::to_string(names.size()));

  step("given a list of names that is shorter or longer than there are");
  for (const std::uint32_t asked : {1u, 3u, 8u, 11u}) {
    std::vector<const char*> some(12);
    std::uint32_t count = asked;
    ZE_CALL(zeModuleGetKernelNames, native(module), &count, some.data()).or_throw();
    expect_same("names that are listed", std::to_string(std::min(asked, 8u)), std::to_string(count));
    const auto first_unwritten = std::ranges::find(some, nullptr) - some.begin();
    expect_same("names that are written", std::to_string(std::min(asked, 8u)),
                std::to_string(first_unwritten));
    for (std::size_t i = 0; i < std::min<std::size_t>(count, names.size()); ++i)
      expect_same("name", names[i], some[i]);
  }
}

// The specification does not define the format of the attributes. The check is therefore not a gate.
PROCTOR_CHECK(Kernel, SourceAttributesAreReported, "K19",
              "Level Zero specification, zeKernelGetSourceAttributes", kWarn,
              {"kernel.sub_group_size_wrong:kernel=sub_group_16"}) {
  const auto context = leased();
  const auto& sub_groups = context.device().properties().sub_group_sizes;
  struct Row {
    const char* module;
    std::string kernel;
    std::vector<std::string> attributes;
  };
  std::vector<Row> rows = {
      {"group_sizes", "group_8_4_2", {"reqd_work_group_size(8,4,2)"}},
      {"group_sizes", "hinted_8_2_1", {"vec_type_hint(float2)", "work_group_size_hint(8,2,1)"}},
      {"group_sizes", "hinted_long", {"vec_type_hint(long)"}}};
  for (const char* name : {"sub_group_8", "sub_group_16"}) {
    const std::string size = std::string(name).substr(sizeof "sub_group_" - 1);
    if (std::ranges::count(sub_groups, std::stoul(size)) == 1)
      rows.push_back({name, name, {"intel_reqd_sub_group_size(" + size + ")"}});
  }
  constexpr const char* kAll[] = {"vec_type_hint(", "work_group_size_hint(", "reqd_work_group_size(",
                                  "intel_reqd_sub_group_size("};
  for (const Row& row : rows) {
    step("given the attributes of " + row.kernel);
    const Module module = Module::load(context, row.module);
    const std::string text = " " + attributes_of(Kernel(module, row.kernel)) + " ";
    for (const std::string& attribute : row.attributes)
      expect_true(text.find(" " + attribute + " ") != std::string::npos, attribute + " is in '" + text + "'");
    const auto known =
        std::ranges::count_if(kAll, [&](const char* name) { return text.find(name) != std::string::npos; });
    expect_same("attributes of the sizes and types that are in '" + text + "'",
                std::to_string(row.attributes.size()), std::to_string(known));
  }
  if (std::ranges::count(sub_groups, 16u) == 0) return;
  step("given a kernel whose attribute is a sub-group of 16");
  const Module module = Module::load(context, "sub_group_16");
  const auto ran = run_one_group(context, Kernel(module, "sub_group_16"), groups_of(1, 32));
  expect_same("size of a sub-group that ran", "16", std::to_string(ran[0]));
}

PROCTOR_CHECK(Kernel, IndirectAccessFlagsAreKept, "K16",
              "Level Zero specification, zeKernelSetIndirectAccess", kGate, {"kernel.skip:kernel=indirect"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "arguments");
  const Kernel kernel(module, "indirect");
  for (ze_kernel_indirect_access_flags_t flags = 0; flags < 8; ++flags) {
    step(fmt::format("given the flags {} of indirect access", flags));
    ZE_CALL(zeKernelSetIndirectAccess, native(kernel), flags).or_throw();
    ze_kernel_indirect_access_flags_t said = 0x100;
    ZE_CALL(zeKernelGetIndirectAccess, native(kernel), &said).or_throw();
    // Flags that were set before may remain.
    expect_same("flags that are kept", std::to_string(flags), std::to_string(said & flags));
  }
  const auto target = device_copy(queue, context, std::vector<std::uint32_t>{1234});
  const auto address = reinterpret_cast<std::uintptr_t>(target.data());
  const auto addresses = device_copy(queue, context, std::vector<std::uint64_t>{address});
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(1));
  step("given a kernel that follows an address in memory");
  queue.launch(kernel, groups_of(1, 1), arguments(addresses, out));
  queue.synchronize();
  expect_words("words at the address", std::vector<std::uint32_t>{1234},
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Kernel, HintsDoNotChangeResult, "K16",
              "Level Zero specification, zeKernelSetCacheConfig, zeKernelSchedulingHintExp", kGate,
              {"kernel.wrong_result:kernel=group_8_4_2,at=1"}) {
  const auto context = leased();
  const Module module = Module::load(context, "group_sizes");
  const Kernel kernel(module, "group_8_4_2");
  for (const ze_cache_config_flags_t flags :
       {0u, std::uint32_t{ZE_CACHE_CONFIG_FLAG_LARGE_SLM}, std::uint32_t{ZE_CACHE_CONFIG_FLAG_LARGE_DATA}}) {
    step(fmt::format("given the preference {} for the cache", flags));
    const Status status = ZE_CALL(zeKernelSetCacheConfig, native(kernel), flags);
    expect_true(status.ok() || status.unsupported(),
                "the preference is taken, or unsupported: " + status.name());
  }
  for (const ze_scheduling_hint_exp_flags_t flag :
       {ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST, ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN,
        ZE_SCHEDULING_HINT_EXP_FLAG_STALL_BASED_ROUND_ROBIN}) {
    step(fmt::format("given the hint {} for the order of its threads", flag));
    ze_scheduling_hint_exp_desc_t hint{};
    hint.stype = ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC;
    hint.flags = flag;
    const Status status = ZE_CALL(zeKernelSchedulingHintExp, native(kernel), &hint);
    expect_true(status.ok() || status.unsupported(), "the hint is taken, or unsupported: " + status.name());
  }
  step("given groups of the size that the kernel requires");
  expect_same("the size that its group sees", "20408",
              std::to_string(run_one_group(context, kernel, {.groups = {1, 1, 1}, .group = {8, 4, 2}})[0]));
}

// ---- sizes ----

PROCTOR_CHECK(Kernel, GroupSizeAtLimitIsAccepted, "K13", "Level Zero specification, zeKernelSetGroupSize",
              kGate, {"kernel.overstate_limits"}) {
  step("given groups at the limits that the device reports");
  const auto context = leased();
  const auto& device = context.device().properties();
  const Module module = Module::load(context, "basic");
  Kernel kernel(module, "fill");
  const std::uint64_t most = device.largest_group;
  const std::array<std::uint32_t, 3> limit = device.group_limit;
  const auto expect_taken = [&](std::array<std::uint32_t, 3> size) {
    std::uint64_t items = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (size[axis] > limit[axis]) return;
      items *= size[axis];
    }
    if (items > most) return;
    expect_same(fmt::format("a group of {} x {} x {}", size[0], size[1], size[2]), kSuccess,
                kernel.try_group_size(size).name());
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<std::uint32_t, 3> size{1, 1, 1};
    size[axis] = limit[axis];
    expect_taken(size);
    for (const std::uint32_t other : {2u, 3u}) {
      size[axis] = static_cast<std::uint32_t>(most / other);
      size[(axis + 1) % 3] = other;
      expect_taken(size);
      size[(axis + 1) % 3] = 1;
    }
    size[axis] = static_cast<std::uint32_t>(most / 4);
    size[(axis + 1) % 3] = size[(axis + 2) % 3] = 2;
    expect_taken(size);
  }
}

PROCTOR_CHECK(Launch, LargestGroupCountIsAccepted, "K17",
              "Level Zero specification, ze_device_compute_properties_t, maxGroupCountX", kGate,
              {"kernel.skip:kernel=fill"}) {
  const auto context = leased();
  const auto& limit = context.device().properties().grid_limit;
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  Kernel kernel(module, "fill");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(1));
  ze_command_list_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  description.commandQueueGroupOrdinal = context.device().record()->compute_group;
  ze_command_list_handle_t list = nullptr;
  ZE_CALL(zeCommandListCreate, native(context), native(context.device()), &description, &list).or_throw();
  step("given as many groups as there can be along each axis, in a list that is not executed");
  queue.launch(kernel, groups_of(1, 1), arguments(out, 7u, 1u));  // Sets the arguments.
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    groups[axis] = limit[axis];
    const ze_group_count_t count{groups[0], groups[1], groups[2]};
    expect_status(kSuccess, ZE_CALL(zeCommandListAppendLaunchKernel, list, native(kernel), &count, nullptr, 0,
                                    nullptr));
  }
  static_cast<void>(ZE_CALL(zeCommandListDestroy, list));
  queue.synchronize();
  expect_words("words that one group wrote", std::vector<std::uint32_t>{7},
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Kernel, SuggestedGroupSizeDividesGlobalSize, "K19",
              "project rule: A suggested group size divides the work without a rest.", kWarn,
              {"kernel.skip:kernel=group_8_4_2"}) {
  const auto context = leased();
  const auto& device = context.device().properties();
  const Module basic = Module::load(context, "basic"), sizes = Module::load(context, "group_sizes");
  const Kernel any(basic, "fill"), strict(sizes, "group_8_4_2");
  using Shape = std::array<std::uint32_t, 3>;
  const auto suggested = [](const Kernel& kernel, const Shape& work) {
    Shape size{~0u, ~0u, ~0u};
    ZE_CALL(zeKernelSuggestGroupSize, native(kernel), work[0], work[1], work[2], &size[0], &size[1], &size[2])
        .or_throw();
    return size;
  };
  const Shape works[] = {{1, 1, 1},    {1, 2, 1},    {1, 1, 2},   {2, 3, 5},   {3, 512, 1},
                         {5, 1, 4096}, {1023, 7, 2}, {8, 8, 8},   {48, 20, 6}, {1 << 20, 1 << 10, 4},
                         {97, 89, 83}, {6, 6, 6},    {128, 2, 2}, {64, 3, 12}};
  for (const Shape& work : works) {
    step(fmt::format("given {} x {} x {} work-items", work[0], work[1], work[2]));
    const Shape size = suggested(any, work);
    bool divides = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      divides =
          divides && size[axis] > 0 && size[axis] <= device.group_limit[axis] && work[axis] % size[axis] == 0;
    expect_true(divides && std::uint64_t{size[0]} * size[1] * size[2] <= device.largest_group,
                fmt::format("groups of {} x {} x {} divide the work and are within the limits", size[0],
                            size[1], size[2]));
  }
  // "Query a suggested group size for a kernel given a global size for each dimension". The specification does not
  // require that the suggestion is the size that the kernel requires.
  step("given a kernel that requires groups of 8 x 4 x 2");
  const Shape size = {8, 4, 2};
  expect_same("the size that its group sees", "20408",
              std::to_string(run_one_group(context, strict, {.groups = {1, 1, 1}, .group = size})[0]));
}

// ---- modules ----

namespace {

struct Built {
  Status status;
  ze_module_handle_t module = nullptr;
  std::string log;
};

Built build(const Context& context, std::span<const std::byte> image, ze_module_format_t format,
            const char* flags) {
  ze_module_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  description.format = format;
  description.inputSize = image.size();
  description.pInputModule = reinterpret_cast<const std::uint8_t*>(image.data());
  description.pBuildFlags = flags;
  Built built;
  ze_module_build_log_handle_t log = nullptr;
  built.status =
      ZE_CALL(zeModuleCreate, native(context), native(context.device()), &description, &built.module, &log);
  if (log == nullptr) return built;
  built.log = text_by_two_calls<std::size_t>("the build log", kBehind, [&](std::size_t* size, char* text) {
    return ZE_CALL(zeModuleBuildLogGetString, log, size, text);
  });
  ZE_CALL(zeModuleBuildLogDestroy, log).or_throw();
  return built;
}

void destroy(const Built& built) {
  if (built.status.ok()) ZE_CALL(zeModuleDestroy, built.module).or_throw();
}

}  // namespace

PROCTOR_CHECK(Module, UnknownBuildFlagOnlyWarns, "K05",
              "Level Zero specification, ze_module_desc_t, pBuildFlags", kWarn,
              {"kernel.skip:kernel=transform"}) {
  const auto context = leased();
  const auto image = module_file("basic");
  const auto log_with = [&](const char* flags) {
    step(std::string("given the flags '") + (flags != nullptr ? flags : "") + "'");
    const Built built = build(context, image, ZE_MODULE_FORMAT_IL_SPIRV, flags);
    expect_status(kSuccess, built.status);
    destroy(built);
    return built.log;
  };
  const std::string plain = log_with(nullptr);
  for (const char* flags :
       {"", "-ze-opt-disable", "-ze-opt-large-register-file", "-ze-opt-greater-than-4GB-buffer-required",
        "-ze-opt-level 2", "-ze-opt-level 1 -ze-opt-disable", "-cl-mad-enable -g"})
    expect_same(std::string("log of the flags '") + flags + "'", plain, log_with(flags));
  for (const char* flags : {"-proctor-no-such-flag", "-ze-opt-disable -proctor-no-such-flag",
                            "-proctor-no-such-flag -ze-opt-disable", "-ze-opt-level 2 -proctor-no-such-flag"})
    expect_true(log_with(flags).size() > plain.size(),
                std::string("the log warns of the flags '") + flags + "'");

  step("given a kernel of a module with such a flag");
  Queue queue(context);
  const Module module(context, image, {.flags = "-proctor-no-such-flag"});
  const auto from = device_copy(queue, context, std::vector<std::uint32_t>{5});
  const auto to = device_copy(queue, context, std::vector<std::uint32_t>(1));
  queue.launch(Kernel(module, "transform"), groups_of(1, 1), arguments(from, to, 2u, 1u));
  queue.synchronize();
  expect_words("words that it computes", std::vector<std::uint32_t>{17},
               read_as<std::uint32_t>(queue, context, to), context.device());
}

PROCTOR_CHECK(Module, NativeBinaryKeepsSpecConstants, "K09",
              "Level Zero specification, zeModuleGetNativeBinary", kGate,
              {"kernel.corrupt_native_binary", "kernel.spec_constant_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const std::uint64_t wide = 0x123456789abcdef0;
  const std::vector<Constant> several[] = {{}, {{1, 7, 8}}, {{0, 77, 4}, {1, wide, 8}, {2, 0x40490fdb, 4}}};
  for (const auto& constants : several) {
    step(fmt::format("given the native image of a module with values for {} of its constants",
                     constants.size()));
    std::vector<std::uint64_t> expected{10, 20, 0x3fc00000};
    for (const Constant& constant : constants) expected[constant.id] = constant.value;
    const Module first = Module::load(context, "constants", {.constants = constants});
    const Module second(context, first.native_image(), {.image = Image::kNative});
    const auto out = device_copy(queue, context, std::vector<std::uint64_t>(3));
    queue.launch(Kernel(second, "specialised"), groups_of(1, 1), arguments(out));
    queue.synchronize();
    expect_longs("its constants", expected, read_as<std::uint64_t>(queue, context, out), context.device());
  }
}

PROCTOR_CHECK(Module, DamagedNativeBinaryIsRejected, "K03", "Level Zero specification, zeModuleCreate", kWarn,
              {"kernel.accept_corrupt_module"}) {
  const auto context = leased();
  const Module module = Module::load(context, "constants", {.constants = {{1, 7, 8}}});
  std::size_t bytes = 0;
  ZE_CALL(zeModuleGetNativeBinary, native(module), &bytes, nullptr).or_throw();
  std::vector<std::byte> image(bytes + kBehind, std::byte{0x5a});
  ZE_CALL(zeModuleGetNativeBinary, native(module), &bytes, reinterpret_cast<std::uint8_t*>(image.data()))
      .or_throw();
  expect_same("size of the image", std::to_string(image.size() - kBehind), std::to_string(bytes));
  expect_true(
      std::all_of(image.end() - kBehind, image.end(), [](std::byte b) { return b == std::byte{0x5a}; }),
      "no byte after the image is written");
  image.resize(bytes);
  const auto expect_damage = [&](const std::string& how, const std::vector<std::byte>& damaged) {
    step("given a native image that " + how);
    Module none;
    expect_refused("an image that " + how,
                   Module::try_build(context, damaged, {.image = Image::kNative}, none));
  };
  for (const std::size_t kept : {std::size_t{1}, std::size_t{7}, std::size_t{16}, image.size() / 2}) {
    std::vector<std::byte> damaged(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(kept));
    expect_damage("ends after " + std::to_string(kept) + " bytes", damaged);
  }
  auto damaged = image;
  std::fill_n(damaged.begin(), 8, std::byte{0});
  expect_damage("begins with zeros", damaged);
  expect_damage("is noise", noise(image.size(), 3));
  expect_damage("is a portable one", module_file("basic"));
}

PROCTOR_CHECK(Module, DynamicLinkAcceptsModulesWithoutImports, "K01",
              "project rule: Modules without imports can be linked.", kWarn,
              {"kernel.wrong_result:kernel=fill,at=0"}) {
  // Loaders up to 1.8 that intercept calls write the handle of a log that was not requested.
  need(has_handles_of_the_driver(), "unsupported:link_without_a_log_through_the_loader");
  const auto context = leased();
  const Module modules[] = {Module::load(context, "basic"), Module::load(context, "ids")};
  for (const Module& module : modules) {
    ze_module_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES;
    properties.flags = 0x100;
    ZE_CALL(zeModuleGetProperties, native(module), &properties).or_throw();
    expect_same("flags of a module that imports nothing", "0", std::to_string(properties.flags));
  }
  for (const std::uint32_t count : {1u, 2u}) {
    for (const bool logged : {false, true}) {
      step(fmt::format("given {} modules that import nothing, linked", count));
      // The driver must not read the element past the last module.
      std::vector<ze_module_handle_t> handles{native(modules[0]), native(modules[1])};
      handles.resize(count);
      handles.push_back(nullptr);
      ze_module_build_log_handle_t log = nullptr;
      expect_status(kSuccess, ZE_CALL(zeModuleDynamicLink, count, handles.data(), logged ? &log : nullptr));
      if (!logged) continue;
      expect_true(log != nullptr, "the linker returns a log");
      if (log == nullptr) return;
      text_by_two_calls<std::size_t>("the log of the linker", kBehind, [&](std::size_t* size, char* text) {
        return ZE_CALL(zeModuleBuildLogGetString, log, size, text);
      });
      ZE_CALL(zeModuleBuildLogDestroy, log).or_throw();
    }
  }
  step("given a kernel of a module that was linked");
  Queue queue(context);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(4));
  queue.launch(Kernel(modules[0], "fill"), groups_of(1, 4), arguments(out, 9u, 4u));
  queue.synchronize();
  expect_words("words that it wrote", std::vector<std::uint32_t>(4, 9),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Module, UnknownFunctionNameIsRejected, "K06",
              "Level Zero specification, zeModuleGetFunctionPointer", kWarn,
              {"error.swallowed:api=zeModuleGetFunctionPointer"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  step("given a name that no function has");
  void* address = nullptr;
  const Status unknown = ZE_CALL(zeModuleGetFunctionPointer, native(module), "no_such_function", &address);
  // ZE_RESULT_ERROR_UNSUPPORTED_FEATURE is the "generic error code for unsupported features", here of a module
  // without functions to point to.
  if (!unknown.unsupported()) expect_status("ZE_RESULT_ERROR_INVALID_FUNCTION_NAME", unknown);
  step("given the name of a kernel");
  const Status status = ZE_CALL(zeModuleGetFunctionPointer, native(module), "fill", &address);
  expect_true(!status.ok() || address != nullptr, "a function that is found has an address");
}

PROCTOR_CHECK(GlobalVariable, PointerAndSizeAreQueriedSeparately, "K08",
              "Level Zero specification, zeModuleGetGlobalPointer", kGate,
              {"kernel.corrupt_global_variable"}) {
  const auto context = leased();
  Queue queue(context);
  step("given a variable of a module, and queries of its address and size, together and alone");
  const Module module = Module::load(context, "constants");
  void *together = nullptr, *alone = nullptr;
  std::size_t both = 0, size = 0;
  ZE_CALL(zeModuleGetGlobalPointer, native(module), "host_visible", &both, &together).or_throw();
  ZE_CALL(zeModuleGetGlobalPointer, native(module), "host_visible", nullptr, &alone).or_throw();
  ZE_CALL(zeModuleGetGlobalPointer, native(module), "host_visible", &size, nullptr).or_throw();
  expect_true(together != nullptr && together == alone, "the address of the variable is the same");
  expect_same("its size", std::to_string(both), std::to_string(size));
  std::vector<std::uint32_t> values(4);
  const auto bytes = read_bytes(queue, context, together, 16);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  expect_words("words at the address", std::vector<std::uint32_t>{11, 22, 33, 44}, values, context.device());
}

}  // namespace proctor::accel
