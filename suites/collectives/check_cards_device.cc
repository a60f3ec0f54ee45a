// Checks that each rank sees only the card that was leased for it.
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/journal/child_protocol.h"
#include "suites/accel/check_fixture.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;

constexpr const char* kMasks = "CUDA Programming Guide, CUDA_VISIBLE_DEVICES; Level Zero, ZE_AFFINITY_MASK";
constexpr std::size_t kHalf = 16;  // hex digits of a UUID that fit in one number

// Returns the PCI address of the card that the runner leased for this rank; "" if it is unknown.
std::string leased_address() {
  const char* const leased = std::getenv(child::kDevicesVariable);
  const auto devices = nlohmann::json::parse(leased != nullptr ? leased : "[]");
  suite::expect_same("cards that were leased for this rank", "1", std::to_string(devices.size()));
  return devices.empty() ? "" : devices[0].value("pci", "");
}

// Returns the UUIDs of the cards of all ranks, in rank order.
std::vector<std::string> uuids_of_all(World& world, const std::string& own) {
  std::vector<std::string> uuids(static_cast<std::size_t>(world.size()));
  for (const std::size_t half : {std::size_t{0}, kHalf}) {
    std::vector<std::uint64_t> numbers;
    const std::uint64_t number = std::stoull(own.substr(half, kHalf), nullptr, 16);
    expect_ok("exchanging the UUIDs", world.gather_everywhere(number, numbers));
    for (std::size_t rank = 0; rank < numbers.size(); ++rank)
      uuids[rank] += fmt::format("{:016x}", numbers[rank]);
  }
  return uuids;
}

}  // namespace

PROCTOR_CHECK(LeasedCard, EachRankSeesOnlyOwnCard, "C32", kMasks, kGate,
              .faults = {"visibility.wrong_pci_address"}, .ranks = 4) {
  suite::step("given ranks that each have a card of their own");
  World world;
  const auto visible = accel::Device::list();
  std::set<std::string> cards;  // cards, because the devices can be tiles
  for (const accel::Device& device : visible) {
    const accel::Properties& its = device.properties();
    cards.insert(its.pci.empty() ? its.uuid : its.pci);
  }
  suite::expect_same("cards that this rank sees", "1", std::to_string(cards.size()));
  const accel::Properties& card = visible.at(0).properties();
  const std::string address = leased_address();
  if (!address.empty()) suite::expect_same("the address of its card", address, card.pci);
  const std::vector<std::string> uuids = uuids_of_all(world, card.uuid);
  const std::set<std::string> different(uuids.begin(), uuids.end());
  suite::expect_same("cards of all ranks", std::to_string(world.size()), std::to_string(different.size()));
}

}  // namespace proctor::collectives
