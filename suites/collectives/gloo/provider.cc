// libproctor_gloo.so: Gloo (https://github.com/facebookincubator/gloo) as a provider.
#include "suites/collectives/provider.h"

#include <dlfcn.h>
#include <gloo/barrier.h>
#include <gloo/config.h>

#include "suites/collectives/gloo/group.h"

namespace proctor::collectives {
namespace {

class Gloo final : public Provider {
 public:
  // Gloo has no call that tells its version, so it is that of the headers.
  Identity identity() const noexcept override {
    void (*const of_gloo)(gloo::BarrierOptions&) = &gloo::barrier;
    Dl_info info{};
    const bool found = ::dladdr(reinterpret_cast<const void*>(of_gloo), &info) != 0;
    return {.name = "gloo",
            .version = std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
                       std::to_string(GLOO_VERSION_PATCH),
            .number = GLOO_VERSION,
            .file = found ? info.dli_fname : ""};
  }
  Memory memory() const noexcept override { return Memory::kHost; }
  Features features() const noexcept override { return {}; }
  bool supports(Operation operation, Type type, Reduction reduction) const noexcept override {
    return gloo_supports(operation, type, reduction);
  }
  bool takes_nothing(Operation operation) const noexcept override { return gloo_takes_nothing(operation); }
  Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept override {
    try {
      group = std::make_unique<GlooGroup>(spec);
      return {};
    } catch (...) {
      return answer_of_exception(false);
    }
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Provider* proctor_collective_provider(std::string*) {
  static Gloo provider;
  return &provider;
}

}  // namespace proctor::collectives
