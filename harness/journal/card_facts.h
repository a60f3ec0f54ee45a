// What a vendor's management library says of a card at one moment: its links, its firmware, the errors that it has counted.
// suites/probe/facts.h has the keys. A value that the card does not tell is missing, with the reason.
#pragma once

#include <map>
#include <string>

#include "harness/base/json.h"

namespace proctor {

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

}  // namespace proctor
