#include "harness/cli/build_facts.h"

#include <fmt/format.h>
#include <limits.h>  // any header of the C library defines its version

#include <string_view>

#include "commit.h"

namespace proctor::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string c_library() {
#if defined(__GLIBC__)
  return fmt::format("glibc {}.{}", __GLIBC__, __GLIBC_MINOR__);
#else
  return "musl";  // which has no macro of its own
#endif
}

}  // namespace

std::string build_facts() {
  const std::string_view commit = PROCTOR_COMMIT;
  const std::string_view sanitizers = PROCTOR_SANITIZERS;
  const std::string build = sanitizers.empty()
                                ? PROCTOR_BUILD_TYPE
                                : fmt::format("{}, sanitizers {}", PROCTOR_BUILD_TYPE, sanitizers);
  return fmt::format(
      "proctor {}\n"
      "commit    {}\n"
      "compiler  {}, {}\n"
      "linked    {}, {}, {}",
      PROCTOR_VERSION, commit.empty() ? "unknown" : commit, compiler(), build,
      PROCTOR_LINKED_STATICALLY ? "statically" : "dynamically", c_library(), PROCTOR_PROCESSOR);
}

}  // namespace proctor::cli
