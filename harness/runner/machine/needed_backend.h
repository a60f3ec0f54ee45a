// Which vendor's devices a program is made for, by the libraries that it needs. Nothing is started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"
#include "harness/base/result.h"

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

}  // namespace proctor
