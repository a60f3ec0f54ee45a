// `run --require-cards`.
#include <fmt/format.h>

#include "harness/cli/run_command.h"

namespace proctor::cli {

// --require-cards: no two ranks share a card, and none is missing. Says who would share which, were they
// started.
Result<void> RunCommand::check_cards() const {
  if (!options_.require_cards) return {};
  const DevicePool pool(devices_.pool);
  for (const Case& test : plan_.cases) {
    const std::string backend(to_string(plan_.suites[test.suite].backend));
    if (test.ranks == 0 || test.devices == 0 || pool.can_ever_lease(backend, test.devices)) continue;
    std::vector<std::string> cards;
    for (const PoolDevice& entry : pool.devices()) {
      if (entry.device.backend == backend) cards.push_back(entry.device.id);
    }
    const int each = test.devices / test.ranks;
    std::string why = fmt::format("start the {} ranks of {}: they need {} cards, and here are {}", test.ranks,
                                  test.id, test.devices, cards.size());
    if (!cards.empty()) {
      const auto second = static_cast<int>(cards.size()) / each;
      why += fmt::format("; ranks 0 and {} would share {}", second, cards.front());
    }
    return Error::usage(why, "Without --require-cards such cases are skipped.");
  }
  return {};
}

}  // namespace proctor::cli
