// What NVML alone says of a card that is good: remapped rows, links to other cards, and what its siblings have, too.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
constexpr int kRefused = 2, kUnsupported = 3;

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

// The place of each link that is down; none where the card has no links.
std::vector<std::string> links_down(const Device& card) {
  std::vector<std::string> down;
  for (unsigned link = 0;; ++link) {
    int active = 0;
    const int result = nvml_call("nvmlDeviceGetNvLinkState", managed_handle(card), link, &active);
    need(link > 0 || (result != kUnsupported && result != kRefused), "unsupported:links_to_other_cards");
    if (result != 0) return down;
    if (active == 0) down.push_back(std::to_string(link));
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

// What most cards of the same name have; skips where there is no other one.
template <typename Ask>
std::string of_most_siblings(const Device& own, const Ask& ask) {
  const std::string name = text_of("nvmlDeviceGetName", managed_handle(own));
  unsigned count = 0;
  expect_same("nvmlDeviceGetCount_v2", "0", std::to_string(nvml_call("nvmlDeviceGetCount_v2", &count)));
  std::map<std::string, int> answers;
  for (unsigned i = 0; i < count; ++i) {
    Card card = nullptr;
    if (nvml_call("nvmlDeviceGetHandleByIndex_v2", i, &card) != 0) continue;
    if (text_of("nvmlDeviceGetName", card) == name) ++answers[ask(card)];
  }
  std::string most;
  int all = 0;
  for (const auto& [answer, cards] : answers) {
    all += cards;
    if (most.empty() || cards > answers[most]) most = answer;
  }
  need(answers[most] * 2 > all && all > 1, "needs:siblings");
  return most;
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

PROCTOR_CHECK(Inventory, LinksToOtherCardsAreUp, "K108", "NVML API Reference Guide, nvmlDeviceGetNvLinkState",
              kGate, {"sysman.links_down"}) {
  const Device card = leased_device();
  step("given each link to other cards");
  expect_same("links that are down", "", fmt::format("{}", fmt::join(links_down(card), ",")));
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
