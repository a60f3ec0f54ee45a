#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "harness/base/read_file.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// Returns the suite's own program: PROCTOR_SELF if it was started through a dynamic loader.
std::filesystem::path program() {
  if (const char* self = std::getenv("PROCTOR_SELF"); self != nullptr && *self != '\0') return self;
  return std::filesystem::read_symlink("/proc/self/exe");
}

// For CUDA 12 the build creates PTX, or code for a single architecture.
#if CUDART_VERSION >= 13000
constexpr const char* kForms[] = {".fatbin"};
#else
constexpr const char* kForms[] = {".ptx", ".cubin"};
#endif

std::filesystem::path file_of(const std::string& name) {
  for (const char* const form : kForms) {
    auto path = program().parent_path() / "kernels" / (name + form);
    if (std::filesystem::exists(path)) return path;
  }
  throw suite::Skipped(kForms[0] + 1 + std::string("_missing:") + name);
}

void need_no_options(const ModuleOptions& options) {
  if (!options.constants.empty()) throw suite::Skipped("unsupported:specialization_constants");
}

}  // namespace

std::vector<std::byte> module_file(const std::string& name) {
  const Result<std::string> bytes = read_file(file_of(name));
  if (!bytes) throw suite::Skipped(kForms[0] + 1 + std::string("_missing:") + name);
  const auto* data = reinterpret_cast<const std::byte*>(bytes->c_str());
  return {data, data + bytes->size() + 1};  // PTX is a null-terminated text; other forms contain their length
}

void or_throw_named(const Status& status, const Device& device) {
  if (status.code() == cudaErrorNoKernelImageForDevice) {
    const cudaDeviceProp& native = device.record()->native;
    throw suite::Skipped("unsupported:compute_capability=" + std::to_string(native.major) + "." +
                         std::to_string(native.minor));
  }
  status.or_throw();
}

// ---- modules ----

Module::Impl::~Impl() {
  if (handle != nullptr) static_cast<void>(cudaLibraryUnload(handle));
}

Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

Module::Module(const Context& context, std::span<const std::byte> image, const ModuleOptions& options) {
  or_throw_named(try_build(context, image, options, *this), context.device());
}

Module Module::load(const Context& context, const std::string& name, const ModuleOptions& options) {
  need_no_options(options);
  use(context.device());
  Module module;
  module.impl_ = std::make_shared<Impl>();
  module.impl_->context = context.impl();
  const Status status = CUDA_CALL(cudaLibraryLoadFromFile, &module.impl_->handle, file_of(name).c_str(),
                                  nullptr, nullptr, 0, nullptr, nullptr, 0);
  or_throw_named(status, context.device());
  return module;
}

// The CUDA Runtime has no build log, only a code.
Status Module::try_build(const Context& context, std::span<const std::byte> image,
                         const ModuleOptions& options, Module& out, std::string* log) {
  need_no_options(options);
  if (log != nullptr) throw suite::Skipped("unsupported:build_log");
  const Status used = try_use(context.device());
  if (!used.ok()) return used;
  auto made = std::make_shared<Impl>();
  made->context = context.impl();
  const Status status =
      CUDA_CALL(cudaLibraryLoadData, &made->handle, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (!status.ok()) {
    made->handle = nullptr;  // the driver may have left an invalid handle
  } else {
    out.impl_ = std::move(made);
  }
  return status;
}

std::vector<std::string> Module::kernel_names() const {
  unsigned count = 0;
  CUDA_CALL(cudaLibraryGetKernelCount, &count, impl_->handle).or_throw();
  std::vector<cudaKernel_t> kernels(count);
  CUDA_CALL(cudaLibraryEnumerateKernels, kernels.data(), count, impl_->handle).or_throw();
  std::vector<std::string> names;
  for (const cudaKernel_t kernel : kernels) {
    const char* name = nullptr;
    CUDA_CALL(cudaFuncGetName, &name, static_cast<const void*>(kernel)).or_throw();
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::byte> Module::native_image() const { throw suite::Skipped("unsupported:native_image"); }

Status Module::try_global(const std::string& name, void** pointer, std::size_t* bytes) const {
  return CUDA_CALL(cudaLibraryGetGlobal, pointer, bytes, impl_->handle, name.c_str());
}

// ---- kernels ----

Kernel::Kernel(const Module& module, const std::string& name) {
  or_throw_named(try_create(module, name, *this), module.impl()->context->devices.front());
}

Status load_now(const void* kernel, const std::vector<Device>& devices) {
  int current = 0;
  Status status = CUDA_CALL(cudaGetDevice, &current);
  for (const Device& device : devices) {
    cudaFuncAttributes attributes{};
    if (status.ok()) status = try_use(device);
    if (status.ok()) status = CUDA_CALL(cudaFuncGetAttributes, &attributes, kernel);
  }
  static_cast<void>(CUDA_CALL(cudaSetDevice, current));
  return status;
}

Status Kernel::try_create(const Module& module, const std::string& name, Kernel& out) {
  auto made = std::make_shared<Impl>();
  made->module = module.impl();
  Status status = CUDA_CALL(cudaLibraryGetKernel, &made->handle, module.impl()->handle, name.c_str());
  if (status.ok()) status = load_now(made->handle, module.impl()->context->devices);
  if (status.ok()) out.impl_ = std::move(made);
  return status;
}

Kernel::Facts Kernel::facts() const {
  cudaFuncAttributes attributes{};
  CUDA_CALL(cudaFuncGetAttributes, &attributes, impl_->handle).or_throw();
  Facts facts;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  while (CUDA_CALL(cudaFuncGetParamInfo, impl_->handle, facts.arguments, &offset, &bytes).ok())
    ++facts.arguments;
  facts.sub_group = impl_->module->context->devices.front().properties().sub_group_sizes.front();
  facts.local_memory = static_cast<std::uint32_t>(attributes.sharedSizeBytes);
  return facts;
}

Status Kernel::try_group_size(std::array<std::uint32_t, 3>) {
  throw suite::Skipped("unsupported:group_size");
}

std::uint32_t Kernel::cooperative_groups(std::uint32_t size) {
  const DeviceRecord& device = *impl_->module->context->devices.front().record();
  if (device.native.cooperativeLaunch == 0) return 0;
  use(impl_->module->context->devices.front());
  int blocks = 0;
  CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, impl_->handle, static_cast<int>(size), 0)
      .or_throw();
  return static_cast<std::uint32_t>(blocks * device.native.multiProcessorCount);
}

Status Kernel::try_argument(std::uint32_t, std::size_t, const void*) {
  throw suite::Skipped("unsupported:single_arguments");
}

}  // namespace proctor::accel
