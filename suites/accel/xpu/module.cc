#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "harness/base/read_file.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// Returns the suite's own program: PROCTOR_SELF if it was started through a dynamic loader.
std::filesystem::path program() {
  if (const char* self = std::getenv("PROCTOR_SELF"); self != nullptr && *self != '\0') return self;
  return std::filesystem::read_symlink("/proc/self/exe");
}

std::string text_of(ze_module_build_log_handle_t log) {
  std::size_t bytes = 0;
  if (log == nullptr || !ZE_CALL(zeModuleBuildLogGetString, log, &bytes, nullptr).ok() || bytes == 0)
    return {};
  std::string text(bytes, '\0');
  if (!ZE_CALL(zeModuleBuildLogGetString, log, &bytes, text.data()).ok()) return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

// Ends the check as a skip if the device does not support the SPIR-V version of the module.
void need_version_of(std::span<const std::byte> spirv, const Device& device) {
  std::uint32_t word = 0;  // 0x00010400 for 1.4
  std::memcpy(&word, spirv.data() + sizeof word, sizeof word);
  const std::uint32_t major = word >> 16, minor = word >> 8 & 0xff;
  if (ZE_MAKE_VERSION(major, minor) > device.record()->spirv_version)
    throw suite::Skipped("needs:spirv>=" + std::to_string(major) + "." + std::to_string(minor));
}

}  // namespace

std::vector<std::byte> module_file(const std::string& name) {
  const auto path = program().parent_path() / "kernels" / (name + ".spv");
  const Result<std::string> bytes = read_file(path);
  if (!bytes) throw suite::Skipped("spirv_missing:" + name);
  const auto* data = reinterpret_cast<const std::byte*>(bytes->data());
  return {data, data + bytes->size()};
}

// ---- modules ----

Module::Impl::~Impl() {
  if (handle != nullptr) entry_points().zeModuleDestroy(handle);
}

Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

Module::Module(const Context& context, std::span<const std::byte> image, const ModuleOptions& options) {
  try_build(context, image, options, *this).or_throw();
}

Module Module::load(const Context& context, const std::string& name, const ModuleOptions& options) {
  const std::vector<std::byte> image = module_file(name);
  need_version_of(image, context.device());
  return Module(context, image, options);
}

Status Module::try_build(const Context& context, std::span<const std::byte> image,
                         const ModuleOptions& options, Module& out, std::string* log) {
  std::vector<std::uint32_t> ids;
  std::vector<const void*> values;
  for (const Constant& constant : options.constants) {
    ids.push_back(constant.id);
    values.push_back(&constant.value);
  }
  const ze_module_constants_t constants{static_cast<std::uint32_t>(ids.size()), ids.data(), values.data()};

  ze_module_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  description.format =
      options.image == Image::kPortable ? ZE_MODULE_FORMAT_IL_SPIRV : ZE_MODULE_FORMAT_NATIVE;
  description.inputSize = image.size();
  description.pInputModule = reinterpret_cast<const std::uint8_t*>(image.data());
  description.pBuildFlags = options.flags.c_str();
  description.pConstants = ids.empty() ? nullptr : &constants;

  auto made = std::make_shared<Impl>();
  made->context = context.impl();
  ze_module_build_log_handle_t build_log = nullptr;
  const Status status = ZE_CALL(zeModuleCreate, native(context), native(context.device()), &description,
                                &made->handle, log == nullptr ? nullptr : &build_log);
  if (log != nullptr) *log = text_of(build_log);
  if (build_log != nullptr) entry_points().zeModuleBuildLogDestroy(build_log);
  if (!status.ok()) {
    made->handle = nullptr;  // the driver may have left an invalid handle
  } else {
    out.impl_ = std::move(made);
  }
  return status;
}

std::vector<std::string> Module::kernel_names() const {
  std::uint32_t count = 0;
  ZE_CALL(zeModuleGetKernelNames, impl_->handle, &count, nullptr).or_throw();
  std::vector<const char*> names(count);
  ZE_CALL(zeModuleGetKernelNames, impl_->handle, &count, names.data()).or_throw();
  return {names.begin(), names.end()};
}

std::vector<std::byte> Module::native_image() const {
  std::size_t bytes = 0;
  ZE_CALL(zeModuleGetNativeBinary, impl_->handle, &bytes, nullptr).or_throw();
  std::vector<std::byte> image(bytes);
  ZE_CALL(zeModuleGetNativeBinary, impl_->handle, &bytes, reinterpret_cast<std::uint8_t*>(image.data()))
      .or_throw();
  return image;
}

Status Module::try_global(const std::string& name, void** pointer, std::size_t* bytes) const {
  return ZE_CALL(zeModuleGetGlobalPointer, impl_->handle, name.c_str(), bytes, pointer);
}

// ---- kernels ----

Kernel::Impl::~Impl() {
  if (handle != nullptr) entry_points().zeKernelDestroy(handle);
}

Kernel::Kernel(const Module& module, const std::string& name) { try_create(module, name, *this).or_throw(); }

Status Kernel::try_create(const Module& module, const std::string& name, Kernel& out) {
  ze_kernel_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  description.pKernelName = name.c_str();
  auto made = std::make_shared<Impl>();
  made->module = module.impl();
  const Status status = ZE_CALL(zeKernelCreate, module.impl()->handle, &description, &made->handle);
  if (!status.ok()) {
    made->handle = nullptr;
    return status;
  }
  // Kernels of the suites follow pointers that are stored in memory.
  ZE_CALL(zeKernelSetIndirectAccess, made->handle,
          ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
              ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED)
      .or_throw();
  out.impl_ = std::move(made);
  return status;
}

Kernel::Facts Kernel::facts() const {
  ze_kernel_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  ZE_CALL(zeKernelGetProperties, impl_->handle, &properties).or_throw();
  return {properties.numKernelArgs, properties.maxSubgroupSize, properties.localMemSize};
}

Status Kernel::try_group_size(std::array<std::uint32_t, 3> size) {
  return ZE_CALL(zeKernelSetGroupSize, impl_->handle, size[0], size[1], size[2]);
}

std::uint32_t Kernel::cooperative_groups(std::uint32_t size) {
  if (!impl_->module->context->devices.front().record()->cooperative) return 0;
  try_group_size({size, 1, 1}).or_throw();
  std::uint32_t count = 0;
  ZE_CALL(zeKernelSuggestMaxCooperativeGroupCount, impl_->handle, &count).or_throw();
  return count;
}

Status Kernel::try_argument(std::uint32_t index, std::size_t bytes, const void* value) {
  return ZE_CALL(zeKernelSetArgumentValue, impl_->handle, index, bytes, value);
}

}  // namespace proctor::accel
