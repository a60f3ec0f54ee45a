#include "harness/selftest/rule_sentences.h"

#include "harness/base/toml_reader.h"

namespace proctor {

std::string rule_sentence(const std::string& rule) {
  // Tests parse the embedded file, so it is valid here.
  static const auto sentences = parse_toml(embedded_rule_sentences(), "rules.toml");
  if (!sentences) return "";
  const auto* const sentence = sentences->get_as<std::string>(rule);
  return sentence == nullptr ? "" : sentence->get();
}

}  // namespace proctor
