// Facts about a machine: its cards, its drivers and its kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "harness/base/json.h"
#include "harness/journal/events.h"

namespace proctor {

// What a vendor's management library says of a card at one moment: its links, its firmware, the errors that it has
// counted. suites/probe/probe_main.h has the keys. A value that the card does not tell is missing, with the reason.
struct CardFacts {
  std::map<std::string, nlohmann::json> values;  // a number, a text, or true or false
  std::map<std::string, std::string> missing;    // why

  // Null if there is none.
  const nlohmann::json* find(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
};

using FactsOfCards = std::map<std::string, CardFacts>;  // by the id of the device

// What a driver was to say of itself and did not: a fact of the fingerprint without a value. It tells what a run came to
// know, and nothing about the stack that it ran on.
inline constexpr std::string_view kDriverSource = "the driver itself";

inline bool is_unsaid(const StackFact& fact) { return !fact.value && fact.source == kDriverSource; }

// One message of the kernel log, as the harness passes it on.
struct KernelLine {
  std::int64_t time_us = 0;  // monotonic, since boot; 0: not known
  int level = 6;             // 0 emergency .. 7 debug
  std::string text{};
  std::string device{};  // PCI address of the device that the kernel itself names beside the text, or ""

  friend bool operator==(const KernelLine&, const KernelLine&) = default;
};

}  // namespace proctor
