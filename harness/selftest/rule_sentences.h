// The sentence of each rule of the built-in suites, from the embedded file suites/rules.toml.
#pragma once

#include <string>
#include <string_view>

namespace proctor {

std::string_view embedded_rule_sentences();

// Returns "" if the file has no such rule.
std::string rule_sentence(const std::string& rule);

}  // namespace proctor
