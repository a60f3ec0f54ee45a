// Checks of kernel libraries that the runtime must refuse: damaged files, and code for other devices. Damaged
// files are tried in a second process, because a compiler reads them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kLoad = "CUDA Runtime API, cudaLibraryLoadFromFile; ROCm/hip-tests, hipModuleLoad";

const std::vector<std::string> kDamages = {"garbage", "text", "empty"};

std::vector<std::byte> damaged(const std::string& how) {
  if (how == "garbage") return noise(4096, 1);
  if (how == "empty") return {};
  const std::string text = "this is not a library of kernels\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

// Loads the file that the first word names, and gets a kernel from it. With lazy loading, only that reads the
// whole file.
PROCTOR_HELPER(load_library) {
  const auto context = leased();
  use(context.device());
  cudaLibrary_t library = nullptr;
  Status status = CUDA_CALL(cudaLibraryLoadFromFile, &library, words.at(0).c_str(), nullptr, nullptr, 0,
                            nullptr, nullptr, 0);
  cudaKernel_t kernel = nullptr;
  if (status.ok()) status = CUDA_CALL(cudaLibraryGetKernel, &kernel, library, "fill");
  suite::answer({{"ok", status.ok()}, {"status", status.name()}});
}

// A file that is deleted with this object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::vector<std::byte>& bytes) {
    path_ = (std::filesystem::temp_directory_path() / "library-XXXXXX").string();
    const int file = mkstemp(path_.data());
    if (file < 0) suite::fail_because("setup", "failed to make a file");
    close(file);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

PROCTOR_CHECK_EACH(kDamages, Module, DamagedFileIsRejected, "K03", kLoad, kGate,
                   {"kernel.accept_corrupt_module", "error.swallowed:api=cudaLibraryLoadFromFile"}) {
  const ScratchFile file(damaged(suite::parameter()));
  step("given a file that is " + suite::parameter());
  Helper helper("load_library", {file.path()});
  const auto answer = helper.answer();
  expect_true(!answer.at("ok").get<bool>(),
              "the file is refused, got " + answer.at("status").get<std::string>());
}

// The library contains code for one generation of devices, and no PTX that others could compile.
PROCTOR_CHECK(Module, CodeForOtherArchitectureIsRejected, "K04",
              "CUDA Runtime API, cudaErrorNoKernelImageForDevice", kGate) {
  need(!suite::on_simgpu(), "not_on_simulator:kernel_images");
  const auto context = leased();
  const cudaDeviceProp& device = context.device().record()->native;
  need(device.major != 7 || device.minor != 5, "needs:compute_capability!=7.5");
  step("given a library with code for compute capability 7.5 alone");
  Module module;
  Status status = Module::try_build(context, module_file("only_75"), {}, module);
  Kernel kernel;
  if (status.ok()) status = Kernel::try_create(module, "fill", kernel);
  if (status.ok()) {
    Queue queue(context);
    const Buffer words = device_memory(context, 64);
    status = queue.try_launch(kernel, groups_of(1, 1), arguments(words, 1u, 1u));
  }
  expect_status("cudaErrorNoKernelImageForDevice", status);
}

// A library in memory must behave like one in a file.
PROCTOR_CHECK(Module, LibraryLoadsFromMemory, "K01", "CUDA Runtime API, cudaLibraryLoadData", kGate,
              {"kernel.wrong_result:kernel=increment,at=4", "kernel.skip:kernel=increment",
               "kernel.build_fail"}) {
  const auto context = leased();
  Queue queue(context);
  const auto image = module_file("basic");
  step("given a library from memory");
  const Module module(context, image);
  auto expected = noise_words(500, 1);
  const auto words = device_copy(queue, context, expected);
  queue.launch(Kernel(module, "increment"), cover(500, 50), arguments(words, 500u));
  queue.synchronize();
  for (auto& word : expected) ++word;
  expect_words("words that its kernel computes", expected, read_as<std::uint32_t>(queue, context, words),
               context.device());
}

PROCTOR_CHECK(GlobalVariable, EachDeviceHasOwnCopy, "K08",
              "CUDA Programming Guide, Device Memory: __device__ variables; cudaLibraryGetGlobal", kGate,
              .faults = {"kernel.corrupt_global_variable", "copy.skip"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context contexts[] = {Context(devices[0]), Context(devices[1])};
  const Module module = Module::load(contexts[0], "constants");
  const Kernel kernel(module, "read_host_visible");
  std::uint32_t* variables[2] = {};
  step("given the variable of one library on two devices");
  for (int i = 0; i < 2; ++i) {
    use(devices[i]);
    void* pointer = nullptr;
    std::size_t bytes = 0;
    CUDA_CALL(cudaLibraryGetGlobal, &pointer, &bytes, native(module), "host_visible").or_throw();
    variables[i] = static_cast<std::uint32_t*>(pointer);
    cudaPointerAttributes attributes{};
    CUDA_CALL(cudaPointerGetAttributes, &attributes, pointer).or_throw();
    expect_same("the device of variable " + std::to_string(i), std::to_string(native(devices[i])),
                std::to_string(attributes.device));
  }
  expect_true(variables[0] != variables[1], "the two variables have different addresses");
  std::vector<std::uint32_t> values[] = {{11, 22, 33, 44}, {11, 22, 33, 44}};
  for (std::uint32_t written = 0; written < 2; ++written) {
    step("given that the host writes the variable of device " + std::to_string(written));
    use(devices[written]);
    values[written] = noise_words(4, written);
    CUDA_CALL(cudaMemcpy, variables[written], values[written].data(), 16, cudaMemcpyDefault).or_throw();
    for (std::uint32_t i = 0; i < 2; ++i) {
      Queue queue(contexts[i]);
      const auto out = device_copy(queue, contexts[i], std::vector<std::uint32_t>(4));
      use(devices[i]);
      launch(kernel, native(queue), 1, 4, out.data());
      queue.synchronize();
      expect_words("words that a kernel reads on device " + std::to_string(i), values[i],
                   read_as<std::uint32_t>(queue, contexts[i], out), devices[i]);
    }
  }
}

PROCTOR_CHECK(Module, KernelEnumerationHonorsRequestedCount, "K01",
              "CUDA Runtime API, cudaLibraryEnumerateKernels", kGate, {"kernel.omit_kernel_name"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  unsigned count = 0;
  step("given a library of eight kernels, and lists with room for some, all and more");
  for (int round = 0; round < 2; ++round) {
    count = 0;
    CUDA_CALL(cudaLibraryGetKernelCount, &count, native(module)).or_throw();
    expect_same("number of kernels", "8", std::to_string(count));
  }
  std::vector<cudaKernel_t> all(count);
  CUDA_CALL(cudaLibraryEnumerateKernels, all.data(), count, native(module)).or_throw();
  for (const unsigned asked : {1U, count - 1, count, count + 2}) {
    std::vector<cudaKernel_t> some(count + 2);
    CUDA_CALL(cudaLibraryEnumerateKernels, some.data(), asked, native(module)).or_throw();
    expect_same("number of listed kernels with room for " + std::to_string(asked),
                std::to_string(std::min(asked, count)),
                std::to_string(some.size() - std::count(some.begin(), some.end(), nullptr)));
  }
  step("given one of them by its name, twice");
  cudaKernel_t first = nullptr, second = nullptr;
  CUDA_CALL(cudaLibraryGetKernel, &first, native(module), "fill").or_throw();
  CUDA_CALL(cudaLibraryGetKernel, &second, native(module), "fill").or_throw();
  expect_true(first == second && std::count(all.begin(), all.end(), first) == 1,
              "the kernel by name is the kernel of the list");
}

PROCTOR_CHECK(GlobalVariable, AddressAndSizeAreOptional, "K08",
              "CUDA Runtime API, cudaLibraryGetGlobal: \"Both parameters dptr and bytes are optional\"",
              kGate, {"error.swallowed:api=cudaLibraryGetGlobal"}) {
  const auto context = leased();
  const Module module = Module::load(context, "constants");
  void *pointer = nullptr, *alone = nullptr;
  std::size_t bytes = 0, size_alone = 0;
  step("given a variable, and queries of address and size, together and alone");
  CUDA_CALL(cudaLibraryGetGlobal, &pointer, &bytes, native(module), "host_visible").or_throw();
  CUDA_CALL(cudaLibraryGetGlobal, &alone, nullptr, native(module), "host_visible").or_throw();
  CUDA_CALL(cudaLibraryGetGlobal, nullptr, &size_alone, native(module), "host_visible").or_throw();
  expect_true(pointer != nullptr && pointer == alone, "the address is the same");
  expect_same("the size", "16", std::to_string(size_alone));
  expect_same("the size with the address", "16", std::to_string(bytes));
  expect_status("cudaErrorSymbolNotFound",
                CUDA_CALL(cudaLibraryGetGlobal, &alone, nullptr, native(module), "host_visibl"));
  static_cast<void>(cudaGetLastError());
}

PROCTOR_CHECK(GlobalVariable, UnloadInvalidatesAddress, "K08", "CUDA Runtime API, cudaLibraryUnload",
              suite::kWarn, {"alloc.claim_host_pointer"}) {
  const auto context = leased();
  void* pointer = nullptr;
  std::size_t bytes = 0;
  const auto kind = [&] { return std::string(to_string(pointer_info(context, pointer).kind)); };
  step("given a variable of a library that is unloaded");
  {
    const Module module = Module::load(context, "constants");
    module.try_global("host_visible", &pointer, &bytes).or_throw();
    expect_same("the kind of its address", "device", kind());
  }
  expect_same("the kind of its address afterwards", "unknown", kind());
}

}  // namespace proctor::accel
