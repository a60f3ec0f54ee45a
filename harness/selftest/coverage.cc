#include "harness/selftest/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "fixtures/simgpu/spec/fault_table.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/selftest/matrix.h"

namespace proctor {
namespace {

// Sorts S1.2 before S1.18.
struct NaturalOrder {
  bool operator()(const std::string& one, const std::string& other) const {
    return strverscmp(one.c_str(), other.c_str()) < 0;
  }
};

struct Rule {
  std::set<std::string> sources;
  std::map<std::string, CoveredCheck> checks;
};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word(char c) { return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

std::vector<std::string_view> prefixes_of(Backend backend) {
  if (backend == Backend::kXpu) return {"ze", "zes", "zet"};
  if (backend == Backend::kCuda) return {"cuda"};
  return {};
}

// Function tables of a loader and names of results have the form of function names, but are not functions.
bool is_no_function(std::string_view text) {
  return text.ends_with("ProcAddrTable") || text == "cudaSuccess" ||
         (text.starts_with("cudaError") && text.size() > 9 && is_upper(text[9]));
}

bool is_function(std::string_view text, const std::vector<std::string_view>& prefixes) {
  constexpr std::size_t kMostBytes = 200;
  const bool begins = std::ranges::any_of(prefixes, [&](std::string_view prefix) {
    return text.size() > prefix.size() && text.starts_with(prefix) && is_upper(text[prefix.size()]);
  });
  return begins && text.size() < kMostBytes && std::ranges::all_of(text, is_word) && !is_no_function(text);
}

// Removes the suffix of functions that are compiled for per-thread default streams. They are the same function.
std::string without_stream(std::string_view name) {
  for (const std::string_view ending : {"_ptsz", "_ptds"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return std::string(name);
}

std::string_view interface_of(std::string_view backend) {
  return backend == "cuda" ? "the CUDA Runtime" : "Level Zero";
}

void add_functions(std::string& text, const Coverage& coverage, std::string_view backend) {
  std::size_t all = 0;
  std::size_t uncalled = 0;
  std::map<std::string_view, std::vector<std::string_view>> by_reason;
  for (const VendorFunction& function : coverage.functions) {
    if (function.backend != backend) continue;
    ++all;
    if (!function.checks.empty()) continue;
    ++uncalled;
    by_reason[function.reason].push_back(function.name);
  }
  if (all == 0) return;
  text += fmt::format("functions of {}: {} of {} are called by a check; by none:\n", interface_of(backend),
                      all - uncalled, all);
  for (const auto& [reason, names] : by_reason) {
    text += fmt::format("  {}\n", reason.empty() ? "no reason is given" : reason);
    for (const std::string_view name : names) text += fmt::format("    {}\n", name);
  }
}

void add_kinds(std::string& text, const Coverage& coverage) {
  text += "checks by the kind of source that their rule comes from:\n";
  for (const SourceKind kind : kSourceKinds) {
    int checks = 0;
    int gates = 0;
    for (const CoveredRule& rule : coverage.rules) {
      for (const CoveredCheck& check : rule.checks) {
        if (check.kind != kind) continue;
        ++checks;
        if (check.severity == Severity::kGate) ++gates;
      }
    }
    text += fmt::format("  {:<14} {:>4}, of which {} gate\n", to_string(kind), checks, gates);
  }
}

// `reason` applies to all functions that a glob of `names` matches.
struct Uncalled {
  std::vector<std::string> names{};
  std::string reason{};
};

Result<std::vector<Uncalled>> parse_uncalled(std::string_view text) {
  const std::string file = "uncalled_functions.toml";
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  TableReader top(file, *root, "the top level", {"uncalled"});
  std::vector<Uncalled> entries;
  for (const toml::table* table : top.tables("uncalled")) {
    TableReader reader(file, *table, "[[uncalled]]", {"functions", "reason"});
    Uncalled entry;
    std::optional<std::vector<std::string>> names;
    reader.require({"functions", "reason"});
    reader.read("functions", names);
    reader.read("reason", entry.reason);
    if (!reader.error() && entry.reason.empty()) reader.fail("reason", "`reason` in [[uncalled]] is empty");
    if (reader.error()) return *reader.error();
    entry.names = std::move(*names);
    entries.push_back(std::move(entry));
  }
  if (top.error()) return *top.error();
  return entries;
}

// Parses lines of `FUNCTION CHECK CHECK ...`; `#` begins a comment.
std::map<std::string, std::vector<std::string>> parse_calls(std::string_view text) {
  std::map<std::string, std::vector<std::string>> calls;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name.starts_with('#')) continue;
    for (std::string check; words >> check;) calls[name].push_back(check);
  }
  return calls;
}

// Adds called functions whose names are not separate texts in a library. A name that ends a longer one
// has no text of its own: cudaLaunchKernel is the end of __cudaLaunchKernel.
void add_hidden(std::vector<VendorFunction>& functions,
                const std::map<std::string, std::vector<std::string>>& called) {
  for (const auto& [name, checks] : called) {
    const std::string backend = name.starts_with("cuda") ? "cuda" : "xpu";
    const bool is_known = std::ranges::find(functions, name, &VendorFunction::name) != functions.end();
    const bool has_interface =
        std::ranges::find(functions, backend, &VendorFunction::backend) != functions.end();
    if (!is_known && has_interface) functions.push_back({.name = name, .backend = backend});
  }
}

}  // namespace

Coverage coverage_of(const Plan& plan) {
  std::map<std::string, Rule, NaturalOrder> rules;
  std::map<std::string, std::set<std::string>, std::less<>> killers;
  for (const Case& test : plan.cases) {
    if (test.rule.empty()) continue;
    const std::string check = check_id(test.id);
    Rule& rule = rules[test.rule];
    rule.sources.insert(test.source);
    rule.checks.try_emplace(check,
                            CoveredCheck{check, test.faults, test.severity, kind_of_source(test.source)});
    for (const std::string& fault : test.faults) killers[std::string(fault_name(fault))].insert(check);
  }
  Coverage coverage;
  for (const auto& [id, rule] : rules) {
    coverage.rules.push_back({id, {rule.sources.begin(), rule.sources.end()}, {}});
    for (const auto& [name, check] : rule.checks) coverage.rules.back().checks.push_back(check);
  }
  for (const simgpu::FaultInfo& fault : simgpu::fault_table()) {
    const auto& checks = killers[std::string(fault.name)];
    coverage.faults.push_back({std::string(fault.name), fault.blanket(), {checks.begin(), checks.end()}});
  }
  return coverage;
}

std::vector<std::string> functions_named_in(std::string_view bytes, Backend backend) {
  const auto prefixes = prefixes_of(backend);
  std::set<std::string> names;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    if (is_function(bytes.substr(0, end), prefixes)) names.insert(without_stream(bytes.substr(0, end)));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return {names.begin(), names.end()};
}

Result<std::vector<std::string>> add_calls(std::vector<VendorFunction>& functions, std::string_view calls,
                                           std::string_view reasons) {
  const auto entries = parse_uncalled(reasons);
  if (!entries) return entries.error();
  const auto called = parse_calls(calls);
  std::set<std::string> useful;
  std::vector<std::string> wrong;
  add_hidden(functions, called);
  for (VendorFunction& function : functions) {
    if (const auto found = called.find(function.name); found != called.end()) {
      function.checks = found->second;
      continue;
    }
    for (const Uncalled& entry : *entries) {
      for (const std::string& name : entry.names) {
        if (!glob_match(name, function.name)) continue;
        useful.insert(name);
        if (function.reason.empty()) function.reason = entry.reason;
      }
    }
    if (function.reason.empty()) wrong.push_back(function.name + ": no check calls it, and it has no reason");
  }
  for (const Uncalled& entry : *entries) {
    for (const std::string& name : entry.names) {
      if (!useful.contains(name))
        wrong.push_back(name + ": has a reason why no check calls it, but there is no such function");
    }
  }
  return wrong;
}

std::string to_json(const Coverage& coverage) {
  auto rules = nlohmann::json::array(), faults = nlohmann::json::array(), functions = nlohmann::json::array();
  for (const CoveredRule& rule : coverage.rules) {
    auto checks = nlohmann::json::array();
    for (const CoveredCheck& check : rule.checks)
      checks.push_back({{"id", check.id},
                        {"faults", check.faults},
                        {"severity", check.severity.text()},
                        {"source_kind", to_string(check.kind)}});
    rules.push_back({{"id", rule.id}, {"sources", rule.sources}, {"checks", std::move(checks)}});
  }
  for (const CoveredFault& fault : coverage.faults)
    faults.push_back({{"name", fault.name}, {"blanket", fault.blanket}, {"checks", fault.checks}});
  for (const VendorFunction& function : coverage.functions)
    functions.push_back({{"name", function.name},
                         {"backend", function.backend},
                         {"named_by", function.suites},
                         {"called_by", function.checks},
                         {"reason", function.reason}});
  const nlohmann::json json = {{"schema_version", 1},
                               {"rules", std::move(rules)},
                               {"faults", std::move(faults)},
                               {"functions", std::move(functions)}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string to_text(const Coverage& coverage) {
  std::string text = fmt::format("rules: {}, each with its checks and the faults that must make them fail\n",
                                 coverage.rules.size());
  for (const CoveredRule& rule : coverage.rules) {
    text += fmt::format("  {}  {}\n", rule.id, fmt::join(rule.sources, "; "));
    for (const CoveredCheck& check : rule.checks)
      text += fmt::format("    {}  {}{}{}\n", check.id, to_string(check.kind),
                          check.faults.empty() ? "" : "  ", fmt::join(check.faults, "; "));
  }
  add_kinds(text, coverage);
  const auto unnoticed = [](const CoveredFault& fault) { return fault.checks.empty(); };
  const auto none = std::ranges::count_if(coverage.faults, unnoticed);
  text += fmt::format("faults: {}, of which {} have no check\n", coverage.faults.size(), none);
  for (const CoveredFault& fault : coverage.faults) {
    if (unnoticed(fault)) text += fmt::format("  {}\n", fault.name);
  }
  for (const std::string_view backend : {"xpu", "cuda"}) add_functions(text, coverage, backend);
  return text;
}

namespace {

struct Document {
  std::string_view name;
  SourceKind kind;
};

using enum SourceKind;

constexpr std::array kDocuments{
    Document{"Level Zero specification", kSpecification},
    Document{"Level Zero programming guide", kSpecification},  // part of the specification
    Document{"CUDA Runtime API", kSpecification},              // cuda_runtime_api.h, driver_types.h
    Document{"CUDA Driver API", kSpecification},
    Document{"CUDA Math API", kSpecification},
    Document{"NVML API Reference Guide", kSpecification},  // nvml.h
    Document{"OpenCL C specification", kSpecification},
    Document{"OpenCL Extension specification", kSpecification},
    Document{"SPIR-V specification", kSpecification},
    Document{"SPIR-V extension", kSpecification},
    Document{"PTX ISA", kSpecification},
    Document{"IEEE 754", kSpecification},
    Document{"OFP8", kSpecification},
    Document{"C standard", kSpecification},
    Document{"POSIX", kSpecification},
    Document{"oneCCL specification", kSpecification},

    Document{"CUDA Programming Guide", kDocumentation},
    Document{"Linux DRM documentation", kDocumentation},
    Document{"NVIDIA GPU Memory Error Management", kDocumentation},
    Document{"NVIDIA XID Errors", kDocumentation},
    Document{"NVIDIA Multi-Instance GPU User Guide", kDocumentation},
    Document{"NCCL user guide", kDocumentation},
    Document{"Higham", kDocumentation},
    Document{"Freivalds", kDocumentation},
    Document{"Hochschild et al.", kDocumentation},  // about silent data corruption in single cores

    Document{"intel/compute-runtime", kImplementation},
    Document{"oneapi-src/level-zero", kImplementation},
    Document{"PyTorch", kImplementation},
    Document{"Gloo", kImplementation},
    Document{"oneCCL", kImplementation},
    Document{"torchft", kImplementation},
    Document{"measured", kImplementation},

    Document{"oneapi-src/level-zero-tests", kTests},
    Document{"OpenCL-CTS", kTests},
    Document{"ROCm/hip-tests", kTests},
    Document{"NVIDIA nccl-tests", kTests},
    Document{"NVIDIA DCGM", kTests},
    Document{"NVIDIA nvbandwidth", kTests},
};

bool names(std::string_view part, const Document& document) {
  if (!part.starts_with(document.name)) return false;
  part.remove_prefix(document.name.size());
  return part.size() > 2 && (part.starts_with(", ") || part.starts_with(": "));
}

SourceKind kind_of_part(std::string_view part) {
  const auto found =
      std::ranges::find_if(kDocuments, [&](const Document& document) { return names(part, document); });
  return found == kDocuments.end() ? kProject : found->kind;
}

}  // namespace

std::string_view to_string(SourceKind kind) {
  switch (kind) {
    case kSpecification:
      return "specification";
    case kDocumentation:
      return "documentation";
    case kImplementation:
      return "implementation";
    case kTests:
      return "tests";
    case kProject:
      return "project";
  }
  return "";
}

SourceKind kind_of_source(std::string_view source) {
  SourceKind strongest = kProject;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find("; "), source.size());
    strongest = std::min(strongest, kind_of_part(source.substr(0, end)));
    source.remove_prefix(std::min(end + 2, source.size()));
  }
  return strongest;
}

}  // namespace proctor
