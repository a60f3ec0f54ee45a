// Checks NVIDIA's specifications for the container device interface (CDI). nvidia-ctk generates them once, so they
// describe the driver of that time. They become outdated when the driver is replaced or when MIG instances are created.
// nvidia-cdi-refresh.service handles the first case but not the second (NVIDIA/nvidia-container-toolkit#1828).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "harness/doctor/examination.h"

namespace proctor {
namespace {

constexpr const char* kNoRefresh = "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1828";
constexpr std::string_view kCapability = "/dev/nvidia-caps/nvidia-cap";

// The container toolkit's legacy mode does not use CDI specifications.
bool uses_cdi(const Host& host) { return host.value("glue.mode").value_or("auto") != "legacy"; }

// Returns the command that generates the specification again. Each kind has its own generator.
std::string make_anew(const CdiSpec& spec) {
  if (spec.kind == "nvidia.com/gpu")
    return fmt::format("sudo nvidia-ctk cdi generate --output={}    (then recreate the containers)",
                       spec.file);
  return fmt::format("restart the service that writes {} (kind {})", spec.file, spec.kind);
}

// Returns a fault of the specification for the loaded driver, or "". In a container, the paths of the specification
// belong to the host and are not checked.
std::string fault_of(const CdiSpec& spec, const Host& host, const std::string& module) {
  for (const std::string& path : spec.host_paths) {
    const std::string version = is_libcuda(path) ? driver_version_of(path) : "";
    if (version.empty()) continue;
    if (version != module) {
      return fmt::format(
          "the CDI specification is for driver {}, but {} is loaded: containers get files that do not exist",
          version, module);
    }
    if (!host.container && host.missing.contains(path) && real_library(host, "libcuda.so.1") != nullptr)
      return fmt::format("the CDI specification names {}, which does not exist", path);
  }
  return {};
}

bool names_libcuda(const CdiSpec& spec) {
  return std::ranges::any_of(spec.host_paths, [](const std::string& path) {
    return is_libcuda(path) && !driver_version_of(path).empty();
  });
}

// ---- MIG ----

// Returns the minor numbers of the MIG instances that these nodes give access to. Other nodes of /dev/nvidia-caps are
// ignored.
std::set<unsigned> rights_in(const std::vector<std::string>& nodes, const Host& host) {
  std::set<unsigned> rights;
  for (const std::string_view node : nodes) {
    unsigned minor = 0;
    if (!node.starts_with(kCapability)) continue;
    const std::string_view digits = node.substr(kCapability.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), minor);
    if (error == std::errc() && end == digits.data() + digits.size() && host.mig_names.contains(minor))
      rights.insert(minor);
  }
  return rights;
}

std::set<unsigned> rights_of_driver(const Host& host) {
  std::set<unsigned> rights;
  for (const MigCapability& right : host.mig) rights.insert(right.minor);
  return rights;
}

std::string names_of(const std::set<unsigned>& rights, const Host& host) {
  constexpr std::size_t kMost = 4;
  auto known = host.mig_names;
  for (const MigCapability& right : host.mig) known.try_emplace(right.minor, right.name);
  std::vector<std::string> names;
  for (const unsigned right : rights) {
    if (names.size() < kMost) names.push_back(known[right]);
  }
  return fmt::format("{}{}", fmt::join(names, ", "),
                     rights.size() > kMost ? fmt::format(" and {} more", rights.size() - kMost) : "");
}

std::set<unsigned> without(const std::set<unsigned>& all, const std::set<unsigned>& others) {
  std::set<unsigned> rest;
  std::ranges::set_difference(all, others, std::inserter(rest, rest.end()));
  return rest;
}

// A container keeps the nodes with which it was started. A container that sees all nodes of its host also has valid
// ones, so the check fails only if every instance of the container is gone.
void check_mig_of_container(Examination& examination) {
  const Host& host = examination.host();
  std::vector<std::string> nodes;
  for (const Node& node : host.nodes) nodes.push_back(node.path);
  const auto given = rights_in(nodes, host);
  const auto there = rights_of_driver(host);
  if (given.empty() || there.empty() || without(given, there).size() < given.size()) return;
  examination.add(
      {HostState::kBroken,
       "cdi-mig",
       fmt::format("this container was given the MIG instances {}, which no longer exist",
                   names_of(given, host)),
       "/dev/nvidia-caps",
       "on the host: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; then recreate the "
       "container",
       {kNoRefresh}});
}

// A specification that names only some of the existing instances may omit the others on purpose, so this is a warning.
void check_mig_of_host(Examination& examination, const std::vector<const CdiSpec*>& specs) {
  const Host& host = examination.host();
  std::vector<std::string> nodes;
  for (const CdiSpec* spec : specs) nodes.insert(nodes.end(), spec->nodes.begin(), spec->nodes.end());
  if (nodes.empty()) return;
  const auto named = rights_in(nodes, host);
  const auto there = rights_of_driver(host);
  const auto missing = without(named, there);
  const auto fresh = without(there, named);
  if (missing.empty() && fresh.empty()) {
    if (!there.empty()) examination.ok("cdi-mig", "the CDI specification names the MIG instances that exist");
    return;
  }
  const bool broken = uses_cdi(host) && (!missing.empty() || fresh.size() == there.size());
  examination.add(
      {broken ? HostState::kBroken : HostState::kWarn,
       "cdi-mig",
       missing.empty()
           ? fmt::format("the CDI specification does not name the MIG instances {}: MIG was changed after it",
                         names_of(fresh, host))
           : fmt::format("the CDI specification names the MIG instances {}, which do not exist: MIG was "
                         "changed after it",
                         names_of(missing, host)),
       specs.front()->file,
       make_anew(*specs.front()),
       {kNoRefresh}});
}

std::vector<const CdiSpec*> specs_of_nvidia(const Host& host) {
  std::vector<const CdiSpec*> specs;
  for (const CdiSpec& spec : host.cdi) {
    if (spec.is_nvidia()) specs.push_back(&spec);
  }
  return specs;
}

}  // namespace

void check_cdi(Examination& examination) {
  const Host& host = examination.host();
  const auto module = host.value("kmd.nvidia");
  if (!module) return;
  for (const CdiSpec* spec : specs_of_nvidia(host)) {
    if (!names_libcuda(*spec)) continue;
    const std::string fault = fault_of(*spec, host, *module);
    if (fault.empty()) {
      examination.ok("cdi", fmt::format("the CDI specification is for the loaded driver, {}", *module),
                     spec->file);
      continue;
    }
    const bool used = uses_cdi(host);
    examination.add({used ? HostState::kBroken : HostState::kWarn,
                     "cdi",
                     fault + (used ? "" : " (the mode is legacy: it is not used)"),
                     spec->file,
                     make_anew(*spec),
                     {}});
  }
}

void check_mig(Examination& examination) {
  const Host& host = examination.host();
  if (!host.mig_known || host.mig_names.empty()) return;
  if (host.container) return check_mig_of_container(examination);
  check_mig_of_host(examination, specs_of_nvidia(host));
}

}  // namespace proctor
