// libproctor_oneccl.so: oneCCL (https://github.com/uxlfoundation/oneCCL) on host memory as a provider.
#include "suites/collectives/provider.h"

#include <optional>
#include <utility>

#include "suites/collectives/oneccl/api.h"
#include "suites/collectives/oneccl/group.h"

namespace proctor::collectives {
namespace {

class OneCcl final : public Provider {
 public:
  explicit OneCcl(oneccl::Api api) : api_(std::move(api)) {}

  Identity identity() const noexcept override {
    const int number = api_.version;  // 2022.2.0 is 20220200
    return {.name = "oneccl",
            .version = std::to_string(number / 10'000) + "." + std::to_string(number / 100 % 100) + "." +
                       std::to_string(number % 100),
            .number = number,
            .file = api_.file};
  }
  Memory memory() const noexcept override { return Memory::kHost; }
  Features features() const noexcept override {
    return {.time_limit = false, .abort = false, .tags = false, .any_source = false};
  }
  bool supports(Operation operation, Type, Reduction reduction) const noexcept override {
    return oneccl::has(operation, reduction);
  }
  bool takes_nothing(Operation) const noexcept override { return true; }
  Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept override {
    try {
      auto made = std::make_unique<oneccl::CclGroup>(api_, spec);
      Answer answer = made->connect();
      if (answer.ok()) group = std::move(made);
      return answer;
    } catch (const std::exception& error) {
      return {Ended::kOther, error.what()};
    }
  }

 private:
  oneccl::Api api_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Provider* proctor_collective_provider(std::string* reason) {
  static std::string why;
  static std::optional<oneccl::Api> api = oneccl::load_api(why);
  if (!api) {
    *reason = why;
    return nullptr;
  }
  static OneCcl provider(*api);
  return &provider;
}

}  // namespace proctor::collectives
