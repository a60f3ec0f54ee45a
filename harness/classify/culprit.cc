#include "harness/classify/culprit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/classify/classify.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

// The property in which suites/collectives records its loaded library: "gloo 0.5.0".
constexpr std::string_view kLibraryProperty = "library";

enum class Tests {
  kAny,
  kChecks,       // of the conformance suites
  kCollectives,  // checks that test a library above the driver
  kOthers,       // suites of the user
};

enum class Who { kNobody, kDevice, kDriver, kLibrary, kTest };

struct Row {
  FailureOwner problem;
  std::array<std::string_view, 4> classes;  // empty: any class
  Tests tests;
  Who who;
  std::string_view words;
};

// The table of culprits. The first matching row applies; without a row there is no culprit.
constexpr std::array kRows = {
    Row{FailureOwner::kMachine,
        {"device_lost", "ecc", "link", "device_suspect"},
        Tests::kAny,
        Who::kDevice,
        "the device"},
    Row{FailureOwner::kMachine, {"driver_error"}, Tests::kAny, Who::kDriver, "the driver"},
    // The harness could not read a result, or the list of known failures is out of date.
    Row{FailureOwner::kCode,
        {"no_result", "result_mismatch", "protocol", "xpass"},
        Tests::kChecks,
        Who::kNobody,
        ""},
    Row{FailureOwner::kCode,
        {},
        Tests::kCollectives,
        Who::kLibrary,
        "the library under test, for a check of it"},
    Row{FailureOwner::kCode,
        {},
        Tests::kChecks,
        Who::kDriver,
        "the driver under test, for a conformance check"},
    Row{FailureOwner::kCode, {}, Tests::kOthers, Who::kTest, "the test, for any other suite"},
};

bool has_class(const Row& row, std::string_view error_class) {
  return row.classes.front().empty() || std::ranges::find(row.classes, error_class) != row.classes.end();
}

bool are(Tests tests, const CulpritFacts& facts) {
  const bool ours = facts.kind == "proctor";
  switch (tests) {
    case Tests::kAny:
      return true;
    case Tests::kChecks:
      return ours;
    case Tests::kCollectives:
      return ours && facts.suite == "collectives";
    case Tests::kOthers:
      return !ours && !facts.run.exec;  // `exec` can start any program, not only a test
  }
  return false;
}

std::vector<const PlannedDevice*> leased(const CulpritFacts& facts) {
  std::vector<const PlannedDevice*> devices;
  for (const PlannedDevice& device : facts.run.devices) {
    if (std::ranges::find(facts.devices, device.id) != facts.devices.end()) devices.push_back(&device);
  }
  return devices;
}

// Returns the only leased device, or the one that the diagnosis line names.
std::optional<Culprit> device_at_fault(const Diagnosis& diagnosis, const CulpritFacts& facts) {
  auto devices = leased(facts);
  if (devices.size() > 1)
    std::erase_if(devices, [&diagnosis](const PlannedDevice* device) {
      return device->pci.empty() || lines_about({{.text = diagnosis.line}}, {device->pci}).empty();
    });
  if (devices.size() != 1) return std::nullopt;
  const PlannedDevice& device = *devices.front();
  return Culprit{.kind = "device", .name = device.name.empty() ? device.id : device.name};
}

bool is_simulated(const CulpritFacts& facts) {
  const auto devices = leased(facts);
  if (devices.empty() && facts.run.sim) return true;
  return std::ranges::any_of(devices, &PlannedDevice::simulated);
}

std::optional<Culprit> driver_under(const CulpritFacts& facts) {
  std::string name;
  if (facts.backend == "xpu") name = "Level Zero driver";
  if (facts.backend == "cuda") name = "CUDA driver";
  if (name.empty()) return std::nullopt;
  if (is_simulated(facts)) {
    // CUDA has one simulation. For xpu, Intel's driver also has its own simulation.
    const bool intel =
        facts.backend == "xpu" && facts.run.sim && facts.run.sim->driver == child::kIntelDriver;
    name = fmt::format("simulated {} ({})", name, intel ? child::kIntelDriver : child::kSimgpuDriver);
  }
  const std::string fact = fmt::format("{}.driver", facts.backend);
  const auto version = std::ranges::find(facts.run.stack, fact,
                                         [](const auto& entry) -> const std::string& { return entry.first; });
  return Culprit{
      .kind = "driver", .name = name, .version = version == facts.run.stack.end() ? "" : version->second};
}

std::optional<Culprit> library_of(const CulpritFacts& facts) {
  const auto reported = std::ranges::find(facts.properties, kLibraryProperty, [](const auto& property) {
    return std::string_view(property.first);
  });
  if (reported == facts.properties.end()) return std::nullopt;
  const std::size_t end = std::min(reported->second.find(' '), reported->second.size());
  return Culprit{.kind = "library",
                 .name = reported->second.substr(0, end),
                 .version = reported->second.substr(std::min(end + 1, reported->second.size()))};
}

}  // namespace

std::optional<Culprit> culprit_of(const Diagnosis& diagnosis, const CulpritFacts& facts) {
  const auto row = std::ranges::find_if(kRows, [&](const Row& candidate) {
    return candidate.problem == diagnosis.problem && has_class(candidate, diagnosis.error_class) &&
           are(candidate.tests, facts);
  });
  switch (row == kRows.end() ? Who::kNobody : row->who) {
    case Who::kNobody:
      return std::nullopt;
    case Who::kDevice:
      return device_at_fault(diagnosis, facts);
    case Who::kDriver:
      return driver_under(facts);
    case Who::kLibrary:
      return library_of(facts);
    case Who::kTest:
      return Culprit{.kind = "test",
                     .name = std::string(facts.suite),
                     .version = facts.run.subject.commit.value.value_or("")};
  }
  return std::nullopt;
}

std::string culprits_of_class(FailureOwner problem, std::string_view error_class) {
  std::string words;
  bool checks_are_said = false;
  for (const Row& row : kRows) {
    if (row.problem != problem || !has_class(row, error_class)) continue;
    if (row.who == Who::kNobody) checks_are_said = true;
    if (row.words.empty() || (checks_are_said && row.tests != Tests::kOthers)) continue;
    words += (words.empty() ? "" : "; ") + std::string(row.words);
  }
  return words;
}

}  // namespace proctor
