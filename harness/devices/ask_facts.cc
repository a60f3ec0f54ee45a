#include "harness/devices/ask_facts.h"

#include <fmt/format.h>

#include <utility>

#include "harness/base/json.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

constexpr Milliseconds kProbeGrace{500};

Error no_facts(const std::string& why) {
  return {ErrorKind::kSystem, "ask the management library about a device: " + why, {}, 0};
}

std::string why_no_answer(const ProcessEnd& end, Milliseconds limit) {
  if (end.cause != EndCause::kExited) return "no answer within " + format_duration(limit);
  if (end.exit_signal) return fmt::format("the probe ended by signal {}", *end.exit_signal);
  return fmt::format("the probe ended with code {}", end.exit_code.value_or(0));
}

}  // namespace

Result<CardFacts> parse_facts(std::string_view line) {
  try {
    const nlohmann::json document = parse_json(line);
    if (const auto problem = document.at("problem").get<std::string>(); !problem.empty())
      return no_facts(problem);
    CardFacts facts;
    for (const auto& [key, value] : document.at("values").items()) facts.values[key] = value;
    for (const auto& [key, why] : document.at("missing").items()) facts.missing[key] = why.get<std::string>();
    return facts;
  } catch (const nlohmann::json::exception& error) {
    return no_facts(error.what());
  }
}

Result<CardFacts> ask_facts(Containment& containment, FactsRequest request) {
  std::string document;
  ProcessSpec spec;
  spec.argv = std::move(request.argv);
  spec.argv.emplace_back("--facts");
  spec.argv.push_back(std::to_string(request.device));
  spec.env = std::move(request.env);
  spec.directory = std::move(request.directory);
  spec.events = true;
  spec.limits.timeout = request.limit;
  spec.limits.fair = true;
  spec.limits.grace = kProbeGrace;
  spec.on_event_line = [&document](std::string_view line) { document = line; };
  const ProcessEnd end = run_contained(containment, std::move(spec));
  if (document.empty()) return no_facts(why_no_answer(end, request.limit));
  return parse_facts(document);
}

}  // namespace proctor
