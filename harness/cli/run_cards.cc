// `run --require-cards`.
#include <fmt/format.h>

#include "harness/cli/run_command.h"

namespace proctor::cli {
namespace {

// Whether it is skipped on this machine for another reason than its number of cards.
bool is_skipped_anyway(const Suite& suite, const Case& test, const RunDevices& devices) {
  const std::string backend(to_string(suite.backend));
  return test.disabled || devices.unusable.contains(backend) ||
         (suite.kind == SuiteKind::kProctor && devices.unusable_by_ours.contains(backend));
}

// "" when each rank of the case has cards of its own here, else who would have not.
std::string who_shares(const Case& test, const std::string& backend, const RunDevices& devices) {
  std::vector<std::string> cards;
  for (const PoolDevice& entry : devices.pool) {
    if (entry.device.backend != backend) continue;
    if (entry.shared)
      return "each process simulates all cards itself, so all ranks would share " + entry.device.id;
    cards.push_back(entry.device.id);
  }
  const auto wanted = static_cast<std::size_t>(test.devices);
  if (cards.size() >= wanted) return {};
  std::string who = fmt::format("they need {} cards, and here are {}", wanted, cards.size());
  const auto served = cards.size() / (wanted / static_cast<std::size_t>(test.ranks));
  if (served > 0) who += fmt::format("; ranks 0 and {} would share {}", served, cards.front());
  return who;
}

}  // namespace

Result<void> RunCommand::check_cards() const {
  if (!options_.require_cards) return {};
  for (const Case& test : plan_.cases) {
    const Suite& suite = plan_.suites[test.suite];
    if (test.ranks == 0 || test.devices == 0 || is_skipped_anyway(suite, test, devices_)) continue;
    const std::string who = who_shares(test, std::string(to_string(suite.backend)), devices_);
    if (who.empty()) continue;
    return Error::usage(fmt::format("start the {} ranks of {}: {}", test.ranks, test.id, who),
                        "Without --require-cards the case is skipped where cards are too few.");
  }
  return {};
}

}  // namespace proctor::cli
