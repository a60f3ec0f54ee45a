// Checks of modules: their contents, and the names that they define. A driver of Level Zero need not refuse
// invalid modules: "not required to perform API validation of any kind".
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kCreate =
    by_vendor("Level Zero specification, zeModuleCreate", "CUDA Runtime API, cudaLibraryLoadFromFile");
constexpr const char* kKernel =
    by_vendor("Level Zero specification, zeKernelCreate", "CUDA Runtime API, cudaLibraryGetKernel");
constexpr const char* kGlobal =
    by_vendor("Level Zero specification, zeModuleGetGlobalPointer", "CUDA Runtime API, cudaLibraryGetGlobal");

std::vector<std::uint32_t> run_transform(const Context& context, const Module& module) {
  Queue queue(context);
  const Kernel kernel(module, "transform");
  const auto from = device_copy(queue, context, noise_words(500, 1));
  const Buffer to = device_memory(context, 2000);
  queue.launch(kernel, cover(500, 50), arguments(from, to, 9u, 500u));
  queue.synchronize();
  return read_as<std::uint32_t>(queue, context, to);
}

}  // namespace

PROCTOR_CHECK(Module, EveryKernelNameIsListed, "K01",
              by_vendor("oneapi-src/level-zero-tests, test_module.cpp",
                        "CUDA Runtime API, cudaLibraryEnumerateKernels"),
              kGate, {"kernel.omit_kernel_name"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  step("given a module of eight kernels");
  auto names = module.kernel_names();
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& name : names) text += name + " ";
  expect_same("kernels",
              "copy count_bad_addresses fill increment saxpy transform write_addresses write_ordinal ", text);
}

PROCTOR_CHECK(Module, UnknownKernelNameIsRejected, "K06", kKernel, by_vendor(kWarn, kGate),
              {"kernel.unknown_name_accepted", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  for (const char* name : {"no_such_kernel", "", "FILL", "fil", "fill2"}) {
    // The documents do not specify the code for an empty name.
    if (kVendor == Vendor::kNvidia && *name == '\0') continue;
    step(std::string("given the name '") + name + "'");
    Kernel none;
    expect_status(by_vendor("ZE_RESULT_ERROR_INVALID_KERNEL_NAME", "cudaErrorSymbolNotFound"),
                  Kernel::try_create(module, name, none));
  }
}

PROCTOR_CHECK(Module, ReloadedModuleComputesSameResult, "K01", kCreate, kGate,
              {"kernel.wrong_result:arg=1,at=4,after=1", "kernel.skip:after=1"}) {
  const auto context = leased();
  const auto expected = run_transform(context, Module::load(context, "basic"));
  step("given the same module, loaded again");
  expect_words("words that its kernel computes", expected,
               run_transform(context, Module::load(context, "basic")), context.device());
}

// ---- variables of a module ----

PROCTOR_CHECK(GlobalVariable, KernelReadsInitialValue, "K08", kGlobal, kGate,
              {"kernel.corrupt_global_variable"}) {
  const auto context = leased();
  Queue queue(context);
  step("given a kernel that reads a variable of its module");
  const Module module = Module::load(context, "constants");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(4));
  queue.launch(Kernel(module, "read_host_visible"), groups_of(1, 4), arguments(out));
  queue.synchronize();
  expect_words("the variable", std::vector<std::uint32_t>{11, 22, 33, 44},
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(GlobalVariable, KernelReadsHostWrittenValue, "K08", kGlobal, kGate,
              {"copy.skip", "memory.corrupt_copy:at=1,after=1,times=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "constants");
  void* pointer = nullptr;
  std::size_t bytes = 0;
  module.try_global("host_visible", &pointer, &bytes).or_throw();
  expect_same("size of the variable", "16", std::to_string(bytes));
  const auto values = noise_words(4, 1);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(4));
  step("given that the host writes the variable");
  write(queue, context, pointer, std::as_bytes(std::span(values)));
  queue.launch(Kernel(module, "read_host_visible"), groups_of(1, 4), arguments(out));
  queue.synchronize();
  expect_words("the variable", values, read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(GlobalVariable, EachModuleHasOwnCopy, "K08", kGlobal, kGate,
              .faults = {"kernel.corrupt_global_variable", "copy.skip"}) {
  const auto context = leased();
  Queue queue(context);
  step("given the same module twice, of which the host writes the variable of the second");
  const Module modules[] = {Module::load(context, "constants"), Module::load(context, "constants")};
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(4));
  const auto read = [&](const Module& module) {
    queue.launch(Kernel(module, "read_host_visible"), groups_of(1, 4), arguments(out));
    queue.synchronize();
    return read_as<std::uint32_t>(queue, context, out);
  };
  void* pointer = nullptr;
  std::size_t bytes = 0;
  modules[1].try_global("host_visible", &pointer, &bytes).or_throw();
  const auto values = noise_words(4, 2);
  write(queue, context, pointer, std::as_bytes(std::span(values)));
  expect_words("the variable of the first", std::vector<std::uint32_t>{11, 22, 33, 44}, read(modules[0]),
               context.device());
  expect_words("the variable of the second", values, read(modules[1]), context.device());
}

PROCTOR_CHECK(GlobalVariable, UnknownNameIsRejected, "K08", kGlobal, by_vendor(kWarn, kGate),
              {"error.swallowed", "error.wrong_code:err=0x78000004"}) {
  const auto context = leased();
  const Module module = Module::load(context, "constants");
  void* pointer = nullptr;
  std::size_t bytes = 0;
  step("given a name that no variable has");
  const Status unknown = module.try_global("no_such_variable", &pointer, &bytes);
  // ZE_RESULT_ERROR_UNSUPPORTED_FEATURE is the "generic error code for unsupported features". It is also a
  // refusal.
  if (kVendor == Vendor::kIntel && unknown.unsupported()) return;
  expect_status(by_vendor("ZE_RESULT_ERROR_INVALID_GLOBAL_NAME", "cudaErrorSymbolNotFound"), unknown);
}

}  // namespace proctor::accel
