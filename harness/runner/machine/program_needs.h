// Which vendor's devices a program is made for, by the libraries that it needs. Nothing is started.
//
// Our programs for CUDA exist once for each version of its runtime that the build found: memory_cuda for that of the
// toolkit, memory_cuda12 for CUDA 12 beside it. A plan names the first, and the same cases are in both; which one runs is
// decided where the devices are: the one for the runtime that the probe found to work with the driver.
//
// Programs that use a driver with a C library of its own are started through that library's dynamic loader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// What the dynamic section of an ELF file says (source: elf(5), ld.so(8)).
struct NeededLibraries {
  std::vector<std::string> names;        // DT_NEEDED: "libcudart.so.12"
  std::vector<std::string> directories;  // DT_RUNPATH or DT_RPATH, with $ORIGIN replaced
};

// Empty for a file without a dynamic section. An error for what is no ELF file of 64 bits in this byte order.
Result<NeededLibraries> read_needed_libraries(const std::string& file);

struct NeededBackend {
  Backend backend = Backend::kNone;
  std::string why;  // "needs libze_loader.so.1", "needs libfoo.so, which needs libcudart.so.12"
  bool certain =
      true;  // false: it may run without, for it only opens the library by name: "opens libcuda.so.1"
};

// The backends of all libraries that `program` needs, directly or through others, each with the nearest one. A
// program that has the CUDA runtime inside opens the driver's library itself, so its name in the program counts as
// well. `ld_library_path` is that of the program.
std::vector<NeededBackend> needed_backends(const std::string& program, std::string_view ld_library_path);

// 12 for a program that needs libcudart.so.12; 0 for one that needs none, or cannot be read.
int needed_cuda_runtime(const std::string& program);

// `program` or its other version, whichever needs the CUDA Runtime of this number; "" if neither does.
std::string program_for_runtime(const std::string& program, int runtime);

// Gives the cases of our programs in `directory` those for the runtime of this number, where there are any.
void use_cuda_runtime(int runtime, const std::string& directory, Plan& plan);

// `program` or its other version, whichever finds the runtime that it needs here; `program` if neither does.
// `ld_library_path` is that of the process.
std::string startable_cuda_program(const std::string& program, std::string_view ld_library_path);

// Whether a dynamic loader can start this file, that is, whether it is an ELF program that asks for one. A
// script cannot be started so: the kernel starts its interpreter and knows only the system's loader.
bool asks_for_loader(const std::string& file);

// Puts `loader_words` before each program of `plan` on `backend` that asks for a loader, and tells the
// program how to start itself again. Programs are looked up in `path`, a PATH value.
Result<void> start_through(const std::vector<std::string>& loader_words, Backend backend,
                           const std::string& path, Plan& plan);

}  // namespace proctor
