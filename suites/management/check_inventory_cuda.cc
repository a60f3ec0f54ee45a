// What NVML alone says of a card that is good: remapped rows, links to other cards, and what its siblings have, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/management.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/skipped.h"
#include "suites/management/asked.h"

namespace proctor::accel {
namespace {

using nlohmann::json;
using suite::expect_same;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;
using Card = nvml::Device;

constexpr const char* kRemapSource = "NVIDIA GPU Memory Error Management: row remapping";

// ---- in a second process ----

template <typename... Arguments>
void must(const char* function, Arguments... arguments) {
  constexpr int kUnsupported = 3;
  const int result = nvml_call(function, arguments...);
  if (result == kUnsupported) throw suite::Skipped(std::string("unsupported:") + function);
  if (result != 0) throw std::runtime_error(fmt::format("{} failed with {}", function, result));
}

std::string text_of(const char* function, Card card) {
  char text[96] = {};
  must(function, card, &text[0], 96U);
  return text;
}

json ecc_of(Card card) {
  int now = 0, later = 0;
  must("nvmlDeviceGetEccMode", card, &now, &later);
  return now == 1 ? "on" : "off";
}

// The link behind the last one is refused.
json links_of(Card card) {
  int all = 0, up = 0;
  for (int active = 0; nvml_call("nvmlDeviceGetNvLinkState", card, static_cast<unsigned>(all), &active) == 0;
       active = 0) {
    ++all;
    up += active == 1 ? 1 : 0;
  }
  return {{"all", all}, {"up", up}};
}

json remaps_of(Card card) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  must("nvmlDeviceGetRemappedRows", card, &corrected, &uncorrected, &pending, &failed);
  return {{"pending", pending}, {"failed", failed}};
}

PROCTOR_HELPER(ask_card) {
  Card card = nullptr;
  must("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(std::stoul(words.at(0))), &card);
  const std::string& what = words.at(1);
  suite::answer({{"told", what == "firmware" ? json(text_of("nvmlDeviceGetVbiosVersion", card))
                          : what == "ecc"    ? ecc_of(card)
                          : what == "links"  ? links_of(card)
                                             : remaps_of(card)}});
}

// ---- in the check ----

unsigned index_of(Card card) {
  unsigned index = 0;
  expect_same("nvmlDeviceGetIndex", "0", std::to_string(nvml_call("nvmlDeviceGetIndex", card, &index)));
  return index;
}

json told(const Device& own, const std::string& what) {
  Helper helper("ask_card", {std::to_string(index_of(managed_handle(own))), what});
  return helper.answer(kQueryLimit, what).at("told");
}

// Of all other cards of the same name. One that does not answer is judged by its own case.
std::vector<json> told_by_siblings(const Device& own, const std::string& what) {
  const std::string name = text_of("nvmlDeviceGetName", managed_handle(own));
  unsigned count = 0;
  must("nvmlDeviceGetCount_v2", &count);
  std::vector<json> answers;
  for (unsigned index = 0; index < count; ++index) {
    Card card = nullptr;
    if (index == index_of(managed_handle(own))) continue;
    if (nvml_call("nvmlDeviceGetHandleByIndex_v2", index, &card) != 0) continue;
    if (text_of("nvmlDeviceGetName", card) != name) continue;
    Helper helper("ask_card", {std::to_string(index), what});
    const auto answer = helper.try_answer(kQueryLimit);
    helper.kill();
    if (answer && answer->contains("told")) answers.push_back(answer->at("told"));
  }
  return answers;
}

// What most cards of the model have; skips where they are too few. The record lets `proctor accept` compare two cards.
void expect_as_siblings(const std::string& what) {
  const Device card = leased_device();
  step(fmt::format("given the {} of all cards of the model", what));
  const json own = told(card, what);
  suite::record("same.inventory." + what, own.dump());
  auto all = told_by_siblings(card, what);
  all.push_back(own);
  std::map<std::string, std::size_t> counts;
  for (const json& answer : all) ++counts[answer.dump()];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  need(all.size() > 1 && most->second * 2 > all.size(), "needs:siblings");
  expect_same("its " + what, most->first, own.dump());
}

}  // namespace

PROCTOR_CHECK(Inventory, NoRowIsWaitingToBeRemapped, "K106", kRemapSource, kGate, {"sysman.remap_pending"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that wait for a reset", "0", told(card, "remaps").at("pending").dump());
}

PROCTOR_CHECK(Inventory, NoRemapFailed, "K107", kRemapSource, kGate, {"sysman.remap_failed"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that could not be remapped", "0", told(card, "remaps").at("failed").dump());
}

// A board without a bridge has links that nobody uses: its siblings say how many there should be.
PROCTOR_CHECK(Inventory, LinksToOtherCardsAreUp, "K108", "NVML API Reference Guide, nvmlDeviceGetNvLinkState",
              kWarn, {"sysman.links_down:dev=0"}) {
  const Device card = leased_device();
  step("given the links of all cards of the model");
  const json own = told(card, "links");
  int most = suite::on_simgpu() ? own.at("all").get<int>() : own.at("up").get<int>();
  for (const json& links : told_by_siblings(card, "links")) most = std::max(most, links.at("up").get<int>());
  need(most > 0, "needs:links_to_other_cards");
  expect_same("links that are up", std::to_string(most), own.at("up").dump());
}

PROCTOR_CHECK(Inventory, FirmwareIsThatOfItsSiblings, "K109",
              "ours: cards of one model in a machine have one firmware", kWarn,
              {"sysman.firmware_differs:dev=0"}) {
  expect_as_siblings("firmware");
}

PROCTOR_CHECK(Inventory, EccIsThatOfItsSiblings, "K111",
              "ours: cards of one model in a machine have one ECC mode", kWarn, {"sysman.ecc_off:dev=0"}) {
  expect_as_siblings("ecc");
}

}  // namespace proctor::accel
