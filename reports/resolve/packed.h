// What attempts say at length and nearly alike, their variables and their telemetry, in little memory: each word is kept
// once, and numbers as they are. Of 100,000 attempts it would be half of all that is known. Example:
//
//   PackedWords words;
//   const std::string packed = pack(TelemetryInfo{}, words);
//   const TelemetryInfo telemetry = unpack_telemetry(packed, words);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

class PackedWords {
 public:
  std::uint64_t number_of(const std::string& word);
  const std::string& word(std::uint64_t number) const { return *words_[number]; }

 private:
  std::vector<std::shared_ptr<const std::string>> words_;  // shared, so that the keys are those of copies too
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
};

std::string pack(const TelemetryInfo& telemetry, PackedWords& words);
std::string pack(const std::vector<EnvironmentVariable>& environment, PackedWords& words);

// Of what pack() made with the same words.
TelemetryInfo unpack_telemetry(std::string_view packed, const PackedWords& words);
std::vector<EnvironmentVariable> unpack_environment(std::string_view packed, const PackedWords& words);

}  // namespace proctor
