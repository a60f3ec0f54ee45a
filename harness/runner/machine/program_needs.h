// Determines for which vendor's devices a program was built, from the libraries that it needs. It starts no program.
// default_devices.h and place() use it.
//
// The build makes the CUDA programs of Proctor once for each version of the CUDA runtime that it found: memory_cuda for
// the toolkit, and memory_cuda12 for CUDA 12. A plan names the first, and both have the same cases. The machine of the
// devices selects the program: it must use the runtime that works with the driver according to the probe.
//
// If a driver needs its own C library, its programs are started through the dynamic loader of that library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// The dynamic section of an ELF file (source: elf(5), ld.so(8)).
struct NeededLibraries {
  std::vector<std::string> names;        // DT_NEEDED: "libcudart.so.12"
  std::vector<std::string> directories;  // DT_RUNPATH or DT_RPATH, with $ORIGIN replaced
};

// Returns an empty result for a file without a dynamic section. Returns an error if the file is not a 64-bit ELF file
// in this byte order.
Result<NeededLibraries> read_needed_libraries(const std::string& file);

// A backend whose library a program needs.
struct NeededBackend {
  Backend backend = Backend::kNone;
  std::string why;  // "needs libze_loader.so.1", "needs libfoo.so, which needs libcudart.so.12"
  bool certain =
      true;  // false: the program only opens the library by name and may run without it: "opens libcuda.so.1"
};

// Returns the backends of all libraries that `program` needs, directly or through others, each with the nearest
// library. A program with a linked CUDA runtime opens the library of the driver itself, so the name of this library in
// the program counts too. `ld_library_path` is the variable of the program.
std::vector<NeededBackend> needed_backends(const std::string& program, std::string_view ld_library_path);

// Returns 12 for a program that needs libcudart.so.12. Returns 0 for a program without this need, or if the file cannot
// be read.
int needed_cuda_runtime(const std::string& program);

// Returns `program` or its other version, whichever needs the CUDA Runtime with this number; "" if neither does.
std::string program_for_runtime(const std::string& program, int runtime);

// Sets the programs of the cases in `directory` to those for the runtime with this number, if they exist.
void use_cuda_runtime(int runtime, const std::string& directory, Plan& plan);

// Returns `program` or its other version, whichever finds its runtime here; `program` if neither does.
// `ld_library_path` is the variable of the process.
std::string startable_cuda_program(const std::string& program, std::string_view ld_library_path);

// Returns whether a dynamic loader can start this file: an ELF program that names a loader. A script cannot be started
// in this way, because the kernel starts its interpreter with the loader of the system.
bool asks_for_loader(const std::string& file);

// Puts `loader_words` before each program of `plan` on `backend` that names a loader. Also sets how the program starts
// itself again. Programs are searched in `path`, a value of PATH.
Result<void> start_through(const std::vector<std::string>& loader_words, Backend backend,
                           const std::string& path, Plan& plan);

}  // namespace proctor
