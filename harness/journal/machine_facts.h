// Facts about a machine: its cards, its drivers and its kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "harness/base/json.h"
#include "harness/journal/events.h"

namespace proctor {

// Facts that a vendor's management library reports about a card at one moment: its links, its firmware, and its
// error counters. suites/probe/probe_main.h has the keys. A value that the card does not report is in `missing`,
// with the reason.
struct CardFacts {
  std::map<std::string, nlohmann::json> values;  // a number, a text, or true or false
  std::map<std::string, std::string> missing;    // key -> reason

  // Returns null if the card has no such value.
  const nlohmann::json* find(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
};

using FactsOfCards = std::map<std::string, CardFacts>;  // by the id of the device

// The source of a fact that a driver should report about itself, but does not: a fact of the fingerprint
// without a value. Such a fact describes what the run could find out, not the stack under test.
inline constexpr std::string_view kDriverSource = "the driver itself";

inline bool is_unsaid(const StackFact& fact) { return !fact.value && fact.source == kDriverSource; }

// One message of the kernel log, as the harness passes it on.
struct KernelLine {
  std::int64_t time_us = 0;  // monotonic, since boot; 0: not known
  int level = 6;             // 0 emergency .. 7 debug
  std::string text{};
  std::string device{};  // PCI address of the device that the kernel names next to the text, or ""

  friend bool operator==(const KernelLine&, const KernelLine&) = default;
};

}  // namespace proctor
