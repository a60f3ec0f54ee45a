// What NVML alone says of a card that is good: remapped rows, links to other cards, and what its siblings have, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/management.h"
#include "suites/main/check.h"
#include "suites/main/skipped.h"
#include "suites/management/asked.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::kWarn;
using suite::step;
using Card = nvmlDevice_st*;

constexpr const char* kRemapSource = "NVIDIA GPU Memory Error Management: row remapping";
constexpr int kUnsupported = 3;

struct Remaps {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
};

Remaps remaps_of(const Device& card) {
  Remaps rows;
  const int result = nvml_call("nvmlDeviceGetRemappedRows", managed_handle(card), &rows.corrected,
                               &rows.uncorrected, &rows.pending, &rows.failed);
  need(result != kUnsupported, "unsupported:nvmlDeviceGetRemappedRows");
  expect_same("nvmlDeviceGetRemappedRows", "0", std::to_string(result));
  return rows;
}

struct Links {
  int all = 0, up = 0;
};

Links links_of(Card card) {
  Links links;
  for (int active = 0;; ++links.all, links.up += active == 1 ? 1 : 0) {
    active = 0;
    if (nvml_call("nvmlDeviceGetNvLinkState", card, static_cast<unsigned>(links.all), &active) != 0)
      return links;
  }
}

std::string text_of(const char* function, Card card) {
  char text[96] = {};
  const int result = nvml_call(function, card, &text[0], 96U);
  need(result != kUnsupported, fmt::format("unsupported:{}", function));
  expect_same(function, "0", std::to_string(result));
  return text;
}

std::string ecc_of(Card card) {
  int now = 0, later = 0;
  const int result = nvml_call("nvmlDeviceGetEccMode", card, &now, &later);
  need(result != kUnsupported, "unsupported:nvmlDeviceGetEccMode");
  expect_same("nvmlDeviceGetEccMode", "0", std::to_string(result));
  return now == 1 ? "on" : "off";
}

// All cards of the same name, itself among them.
std::vector<Card> cards_of_model(const Device& own) {
  const std::string name = text_of("nvmlDeviceGetName", managed_handle(own));
  unsigned count = 0;
  expect_same("nvmlDeviceGetCount_v2", "0", std::to_string(nvml_call("nvmlDeviceGetCount_v2", &count)));
  std::vector<Card> cards;
  for (unsigned i = 0; i < count; ++i) {
    Card card = nullptr;
    if (nvml_call("nvmlDeviceGetHandleByIndex_v2", i, &card) != 0) continue;
    if (text_of("nvmlDeviceGetName", card) == name) cards.push_back(card);
  }
  return cards;
}

// What most of them have; skips where they are too few to say.
template <typename Ask>
std::string of_most_siblings(const Device& own, const Ask& ask) {
  const auto cards = cards_of_model(own);
  std::map<std::string, std::size_t> answers;
  for (const Card card : cards) ++answers[ask(card)];
  const auto most = std::ranges::max_element(answers, {}, [](const auto& entry) { return entry.second; });
  need(cards.size() > 1 && most->second * 2 > cards.size(), "needs:siblings");
  return most->first;
}

}  // namespace

PROCTOR_CHECK(Inventory, NoRowIsWaitingToBeRemapped, "K106", kRemapSource, kGate, {"sysman.remap_pending"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that wait for a reset", "0", std::to_string(remaps_of(card).pending));
}

PROCTOR_CHECK(Inventory, NoRemapFailed, "K107", kRemapSource, kGate, {"sysman.remap_failed"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that could not be remapped", "0", std::to_string(remaps_of(card).failed));
}

// A board without a bridge has links that nobody uses: its siblings say how many there should be.
PROCTOR_CHECK(Inventory, LinksToOtherCardsAreUp, "K108", "NVML API Reference Guide, nvmlDeviceGetNvLinkState",
              kWarn, {"sysman.links_down:dev=0"}) {
  const Device card = leased_device();
  step("given the links of all cards of the model");
  const Links own = links_of(managed_handle(card));
  int most = suite::on_simgpu() ? own.all : 0;
  for (const Card sibling : cards_of_model(card)) most = std::max(most, links_of(sibling).up);
  need(most > 0, "needs:links_to_other_cards");
  expect_same("links that are up", std::to_string(most), std::to_string(own.up));
}

PROCTOR_CHECK(Inventory, FirmwareIsThatOfItsSiblings, "K109",
              "ours: cards of one model in a machine have one firmware", kWarn,
              {"sysman.firmware_differs:dev=0"}) {
  const Device card = leased_device();
  const auto firmware = [](Card each) { return text_of("nvmlDeviceGetVbiosVersion", each); };
  step("given the firmware of all cards of the model");
  expect_same("its firmware", of_most_siblings(card, firmware), firmware(managed_handle(card)));
}

PROCTOR_CHECK(Inventory, EccIsThatOfItsSiblings, "K111",
              "ours: cards of one model in a machine have one ECC mode", kWarn, {"sysman.ecc_off:dev=0"}) {
  const Device card = leased_device();
  step("given the ECC mode of all cards of the model");
  expect_same("its ECC mode", of_most_siblings(card, ecc_of), ecc_of(managed_handle(card)));
}

}  // namespace proctor::accel
