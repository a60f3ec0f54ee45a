#include "harness/cli/explain_mask.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "harness/base/text.h"
#include "harness/devices/masks/mask_cuda.h"
#include "harness/devices/masks/mask_explain.h"
#include "harness/devices/masks/mask_xpu.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor::cli {
namespace {

constexpr Topology kExampleXpu{2, 4};
constexpr Topology kExampleCuda{4, 1};

// The request after parsing its words.
struct Question {
  bool cuda = false;
  std::string value;
  std::optional<Hierarchy> hierarchy;
  std::optional<Topology> topology;

  const char* variable() const { return cuda ? kCudaMaskVariable : kXpuMaskVariable; }
  std::string assignment() const { return variable() + ("=" + in_quotes(value)); }
  std::optional<CudaHost> host() const {
    return topology ? std::optional(CudaHost{topology->cards, {}, {}}) : std::nullopt;
  }
};

Result<Question> read(const MaskRequest& request) {
  Question question;
  question.value = request.value;
  question.cuda = request.backend == "cuda";
  if (!question.cuda && request.backend != "xpu") {
    return Error::refused("The backend must be cuda or xpu (got " + in_quotes(request.backend) + ")",
                          did_you_mean(request.backend, {"cuda", "xpu"}));
  }
  if (request.hierarchy) {
    if (question.cuda) {
      return Error::refused("--hierarchy " + in_quotes(*request.hierarchy) +
                            " cannot be combined with cuda: it is a Level Zero setting");
    }
    const auto hierarchy = parse_hierarchy(*request.hierarchy);
    if (!hierarchy) return hierarchy.error();
    question.hierarchy = *hierarchy;
  }
  if (request.topology) {
    const auto topology = parse_topology(*request.topology);
    if (!topology) return topology.error();
    if (question.cuda && topology->tiles != 1) {
      return Error::refused(
          "--topology " + in_quotes(*request.topology) + " is not valid for cuda: its devices have no tiles",
          "For four devices, write '4'.");
    }
    question.topology = *topology;
  }
  return question;
}

int report(const Error& error, std::ostream& err) {
  err << fmt::format("proctor: {}\n", error.message());
  if (!error.hint.empty()) err << error.hint << '\n';
  return kExitUsage;
}

MaskLint lint(const Question& question) {
  if (question.cuda) return lint_cuda_mask(question.value, question.host());
  return lint_xpu_mask(question.value, question.hierarchy, question.topology);
}

std::string topology_words(const Question& question, const Topology& topology) {
  const std::string size = question.cuda ? fmt::format("{} devices in PCI order", topology.cards)
                                         : fmt::format("{} cards of {} tiles; N is a card, N.M a tile of it",
                                                       topology.cards, topology.tiles);
  return question.topology ? size : size + "; an example, --topology names yours";
}

void print_verdict(const MaskLint& lint, std::ostream& out) {
  if (lint.accepted()) {
    out << fmt::format("verdict: accepted, {}\n", lint.meaning);
    for (const std::string& warning : lint.warnings) out << "warning: " << warning << '\n';
  } else if (!lint.refusals.empty()) {
    const MaskRefusal& first = lint.refusals.front();
    out << fmt::format("verdict: refused, {} {}\n", to_string(first.entry), first.why);
  } else {
    out << fmt::format("verdict: refused, it {}\n", lint.refused_whole);
  }
}

void print_refusal(const Question& question, const MaskLint& lint, std::ostream& err) {
  err << fmt::format("refused: {}\n", question.assignment());
  for (const MaskRefusal& refusal : lint.refusals) {
    err << fmt::format("  {} at column {} {}\n", to_string(refusal.entry), refusal.entry.column, refusal.why);
  }
  if (!lint.refused_whole.empty()) err << "  it " << lint.refused_whole << '\n';
  if (!lint.suggestion.empty()) err << lint.suggestion << '\n';
}

void print_driver(const char* heading, const std::vector<std::string>& driver, std::ostream& out) {
  if (!driver.empty()) out << '\n' << heading << '\n';
  for (const std::string& line : driver) out << "  " << line << '\n';
}

void print(const Question& question, const MaskExplanation& explanation, const Topology& topology,
           std::ostream& out) {
  if (!explanation.entries.empty()) out << "\nentries\n";
  for (const auto& [entry, meaning] : explanation.entries) {
    out << fmt::format("  {}  {}  {}\n", entry.number, in_quotes(entry.text), meaning);
  }
  out << fmt::format("\nvisible ({})\n", topology_words(question, topology));
  for (const VisibleSet& set : explanation.visible) {
    out << (set.under.empty() ? "  " : fmt::format("  {}: ", set.under)) << set.devices << '\n';
  }
  if (explanation.visible.empty()) out << "  nothing: the driver ends the process before it gets so far\n";
  print_driver("Intel's driver (a model of its versions 22.43 and 26.27)", explanation.driver, out);
  out << "\nrules\n";
  for (const MaskRule& rule : explanation.rules) {
    out << fmt::format("  [{}] {}\n      {}\n", rule.evidence, rule.text, rule.source);
  }
  if (!explanation.known.empty()) out << "\nthis very value\n  " << explanation.known << '\n';
  out << "\nevidence: S specification, I source code, T other test suites, X executed, F inferred\n";
}

// VALUE can begin with any character. CLI11 treats "-1" as a value, but "-x" as an unknown option. If there is no other
// value, the unknown option is used.
void take_value(const CLI::App& command, MaskRequest& request) {
  std::vector<std::string> unknown;
  for (const std::string& word : command.remaining()) {
    if (word != "--") unknown.push_back(word);
  }
  if (command.count("VALUE") == 0) {
    if (unknown.size() != 1) throw CLI::RequiredError("VALUE");
    request.value = unknown.front();
  } else if (!unknown.empty()) {
    throw CLI::ExtrasError(unknown);
  }
}

}  // namespace

int explain_mask(const MaskRequest& request, std::ostream& out, std::ostream& err) {
  const auto question = read(request);
  if (!question) return report(question.error(), err);
  const MaskLint verdict = lint(*question);
  out << question->assignment() << '\n';
  print_verdict(verdict, out);
  if (question->cuda) {
    const Topology topology = question->topology.value_or(kExampleCuda);
    print_driver("the CUDA driver", verdict.driver, out);
    print(*question, explain_cuda_mask(question->value, CudaHost{topology.cards, {}, {}}), topology, out);
  } else {
    const Topology topology = question->topology.value_or(kExampleXpu);
    print(*question, explain_xpu_mask(question->value, question->hierarchy, topology), topology, out);
  }
  if (verdict.accepted()) return kExitGreen;
  print_refusal(*question, verdict, err);
  return kExitUsage;
}

void add_explain_mask(CLI::App& explain, Action& action) {
  CLI::App* command = explain.add_subcommand(
      "mask", "Show which devices CUDA_VISIBLE_DEVICES or ZE_AFFINITY_MASK selects, and the rules for it");
  const auto request = std::make_shared<MaskRequest>();
  command->add_option("BACKEND", request->backend, "Backend: cuda or xpu")->type_name("BACKEND")->required();
  command->add_option("VALUE", request->value, "Mask, which may be empty ('')")->type_name("VALUE");
  command->add_option("--hierarchy", request->hierarchy, "Mode of xpu: COMPOSITE, FLAT or COMBINED")
      ->type_name("MODE");
  command
      ->add_option("--topology", request->topology,
                   "Cards and tiles, for example 2x4 (cuda: number of cards)")
      ->type_name("TOPOLOGY");
  command->allow_extras();
  for (CLI::Option* other : explain.get_options()) command->excludes(other);
  command->callback([command, request, &action] {
    take_value(*command, *request);
    action = [request] { return explain_mask(*request, std::cout, std::cerr); };
  });
}

}  // namespace proctor::cli
