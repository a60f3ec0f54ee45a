// Checks of CUDA_VISIBLE_DEVICES: the devices that it selects, row by row and for further values, and the order in
// which its ordinals count.
#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <sstream>

#include "suites/main/check.h"
#include "suites/visibility/cuda/observed.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

// A row of the truth table of CUDA_VISIBLE_DEVICES. Each row is a case of the suite.
struct CudaMaskRow {
  const char* name;     // number in the table, and a short description
  const char* value;    // a pattern of mask_values.h; null: not set
  const char* selects;  // devices of the pool, "1 0"; "all"; "none"; "once": any devices, each at most once
  const char* rule;
  const char* source;
  suite::Severity severity;
  const char* fault;
  // A driver that reads the value differently could show devices outside of the pool. The row therefore runs only
  // if the pool is the whole machine.
  bool whole_machine_only = false;
};

using suite::kGate;
using suite::kInfo;
using suite::kWarn;

constexpr const char* kPyTorch = "PyTorch, torch/cuda/__init__.py _parse_visible_devices";
constexpr const char* kHip = "ROCm/hip-tests, hipSetGetDeviceMproc.cc, also run on NVIDIA";
constexpr const char* kMig = "NVIDIA Multi-Instance GPU User Guide, Device Names";

constexpr const char* kOffByOne = "visibility.mask_off_by_one";
constexpr const char* kOrderLost = "visibility.use_wrong_mask_order";
constexpr const char* kGoesOn = "visibility.skip_invalid_mask_entry";
constexpr const char* kNothingMeansAll = "visibility.show_all_on_empty_selection";
constexpr const char* kTwice = "visibility.list_repeated_device_twice";
constexpr const char* kMixed = "visibility.mixed_mask_accepted";
constexpr const char* kCut = "visibility.truncate_long_mask";
constexpr const char* kPrefixRefused = "visibility.uuid_prefix_refused";

constexpr CudaMaskRow kRows[] = {
    {"UnsetVariableSelectsEveryDevice", nullptr, "all", "V01", kGuide, kGate, "visibility.uuid_changes",
     true},
    {"EmptyValueSelectsNothing", "", "none", "V02", kGuide, kGate, kNothingMeansAll},
    {"FirstOrdinalSelectsFirstDevice", "{0}", "0", "V03", kGuide, kGate, kOffByOne},
    {"SecondOrdinalSelectsSecondDevice", "{1}", "1", "V03", kGuide, kGate, kOffByOne},
    {"ReversedListReversesDevices", "{1},{0}", "1 0", "V04", kGuide, kGate, kOrderLost},
    {"GuideExampleKeepsListOrder", "{2},{1}", "2 1", "V04", kGuide, kGate, kOrderLost},
    {"ThreeOrdinalsSelectThreeDevices", "{0},{1},{2}", "0 1 2", "V06", kHip, kGate, kOffByOne},
    {"ShuffledListOrdersFiveDevices", "{4},{2},{0},{3},{1}", "4 2 0 3 1", "V04", kGuide, kGate, kCut},
    {"MinusOneSelectsNothing", "-1", "none", "V09", kGuide, kGate, kNothingMeansAll},
    {"ThirdEntryMinusOneEndsList", "{0},{2},-1,{1}", "0 2", "V07", kGuide, kGate, kGoesOn},
    {"SecondEntryMinusOneEndsList", "{0},-1,{1}", "0", "V07", kGuide, kGate, kGoesOn},
    {"OrdinalPastEndSelectsNothing", "{N}", "none", "V09", kGuide, kGate, kNothingMeansAll},
    {"OutOfRangeOrdinalEndsList", "{0},{N},{1}", "0", "V07", kGuide, kGate, kGoesOn},
    {"InvalidFirstOrdinalSelectsNothing", "{N},{0}", "none", "V07", kGuide, kGate, kGoesOn},
    {"RepeatedOrdinalShowsNoDuplicate", "{0},{0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"LaterRepeatedOrdinalShowsNoDuplicate", "{0},{1},{2},{1}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"BlankAfterCommaIsIgnored", "{0}, {1}", "0 1", "V11", kPyTorch, kWarn, kOffByOne},
    {"BlanksAroundEntriesAreIgnored", " {1} ,{0}", "1 0", "V11", kPyTorch, kInfo, kOrderLost},
    {"BlankSelectsNothing", " ", "none", "V12", kPyTorch, kInfo, kNothingMeansAll},
    {"CommaAloneSelectsNothing", ",", "none", "V12", kPyTorch, kInfo, kNothingMeansAll},
    {"TrailingCommaIsIgnored", "{0},", "0", "V12", kPyTorch, kInfo, kOffByOne},
    {"TrailingLettersAreIgnored", "{1}gpu2,{2}ampere", "1 2", "V12", kPyTorch, kWarn, kOffByOne},
    {"PlusSignIsIgnored", "{2},+{1},{0}", "2 1 0", "V12", kPyTorch, kWarn, kOrderLost},
    {"MinusZeroSelectsFirstDevice", "-{zero}", "0", "V12", kPyTorch, kWarn, kOffByOne},
    {"WordsBeforeOrdinalSelectNothing", "one,two,{0}", "none", "V12", kPyTorch, kWarn, kGoesOn},
    {"WordsAfterOrdinalsEndList", "{1},{0},two,one", "1 0", "V07", kPyTorch, kWarn, kOrderLost},
    {"OverflowingOrdinalSelectsNothing", "99999999999999999999999", "none", "V12", kGuide, kWarn,
     kNothingMeansAll},
    {"Ordinal256SelectsNothing", "256", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal65536SelectsNothing", "65536", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal2To31SelectsNothing", "2147483648", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal2To32SelectsNothing", "4294967296", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal2To32Plus1SelectsNothing", "4294967297", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal2To64SelectsNothing", "18446744073709551616", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Minus256SelectsNothing", "-256", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"Ordinal256EndsList", "{1},256,{0}", "1", "V07", kGuide, kGate, kGoesOn},
    {"OrdinalWithExtraDigitsSelectsNothing", "{1}999999", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"LeadingZerosAreIgnored", "00{1},0{0}", "1 0", "V12", kPyTorch, kWarn, kOrderLost},
    {"FirstUuidSelectsFirstDevice", "{uuid0}", "0", "V13", kGuide, kGate, kOffByOne},
    {"SecondUuidSelectsSecondDevice", "{uuid1}", "1", "V13", kGuide, kGate, kOffByOne},
    {"UniquePrefixSelectsFirstDevice", "{prefix0}", "0", "V13", kGuide, kGate, kPrefixRefused},
    {"UniquePrefixSelectsSecondDevice", "{prefix1}", "1", "V13", kGuide, kGate, kPrefixRefused},
    {"AmbiguousPrefixSelectsNothing", "{common}", "none", "V14", kPyTorch, kWarn,
     "visibility.ambiguous_prefix_accepted"},
    {"UnknownUuidEndsList", "{uuid1},GPU-ffffffff-ffff-ffff-ffff-ffffffffffff,{uuid0}", "1", "V07", kPyTorch,
     kWarn, kGoesOn},
    {"PrefixWithoutDigitsSelectsNothing", "GPU-", "none", "V14", kPyTorch, kInfo, kNothingMeansAll},
    {"UuidWithoutGpuPrefixSelectsNothing", "{bare0}", "none", "V12", kGuide, kInfo, kNothingMeansAll, true},
    {"UuidListOrdersTwoDevices", "{uuid2},{uuid1}", "2 1", "V15", kGuide, kGate, kOrderLost},
    {"PrefixListOrdersTwoDevices", "{prefix1},{prefix0}", "1 0", "V15", kGuide, kGate, kOrderLost},
    {"UuidListOrdersFiveDevices", "{uuid3},{uuid1},{uuid4},{uuid0},{uuid2}", "3 1 4 0 2", "V15", kGuide,
     kGate, kCut},
    {"RepeatedUuidShowsNoDuplicate", "{uuid0},{uuid0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"UuidAndPrefixShowNoDuplicate", "{uuid0},{prefix0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"OrdinalAfterUuidEndsList", "{uuid1},{0}", "1", "V16", kPyTorch, kWarn, kMixed},
    {"UuidAfterOrdinalEndsList", "{0},{uuid1}", "0", "V16", kPyTorch, kInfo, kMixed},
    {"UnknownMigUuidSelectsNothing", "MIG-5c0a7a9e-3b1f-5d52-8a0e-1f9d2c4b6e80", "none", "V17", kMig, kWarn,
     kNothingMeansAll},
    {"MigNameWithoutInstanceSelectsNothing", "MIG-{uuid0}/1/0", "none", "V17", kMig, kInfo, kNothingMeansAll},
    {"WordVoidSelectsNothing", "void", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"WordNoneSelectsNothing", "none", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"WordAllSelectsNothing", "all", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"WordNoDevFilesSelectsNothing", "NoDevFiles", "none", "V12", kGuide, kInfo, kNothingMeansAll},
};

std::span<const CudaMaskRow> cuda_mask_rows() { return kRows; }

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kInfo;
using suite::kWarn;
using suite::step;

}  // namespace

PROCTOR_CHECK(DeviceMask, OrdinalSelectsMatchingDevice, "V03", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    const auto mask = pool.ordinal(i);
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text({pool.uuid(i)}), text_of(enumerate_under(mask)));
  }
}

PROCTOR_CHECK(DeviceMask, UuidSelectsMatchingDevice, "V13", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one"}) {
  const auto pool = pool_of(2);
  for (const auto& name : pool.names.pool) {
    step("given the mask " + name);
    expect_same("the mask selects", expected_text({name}), text_of(enumerate_under(name)));
  }
}

PROCTOR_CHECK(DeviceMask, DeviceOrderDoesNotAffectUuids, "V13", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one"}) {
  const auto pool = pool_of(2);
  for (const char* order : {kByBus, "FASTEST_FIRST"}) {
    step(std::string("given all names under CUDA_DEVICE_ORDER=") + order);
    const auto seen = enumerate({{kOrder, order}, {kMask, pool.mask()}});
    expect_same("the devices", expected_text(pool.names.pool), text_of(seen));
  }
}

namespace {

// Changes the digit with this number, so that no device of the machine has the resulting name.
std::string misspelt(const std::string& name, std::size_t digit, const std::vector<std::string>& machine) {
  std::size_t at = std::string_view("GPU-").size();
  for (std::size_t passed = 0; passed < digit || name[at] == '-'; ++at)
    if (name[at] != '-') ++passed;
  std::string wrong = name;
  for (const char other : std::string_view("0123456789abcdef")) {
    wrong[at] = other;
    if (std::ranges::find(machine, wrong) == machine.end()) break;
  }
  return wrong;
}

}  // namespace

// The guide requires enough digits to identify a device. It does not state that the driver compares further
// digits.
PROCTOR_CHECK(DeviceMask, EveryUuidDigitIsCompared, "V13", kGuide, kWarn,
              .faults = {"visibility.show_all_on_empty_selection"}) {
  const auto pool = pool_of();
  const auto& name = pool.names.pool.back();
  for (const std::size_t digit : {0U, 7U, 8U, 12U, 16U, 20U, 30U, 31U}) {
    const auto wrong = misspelt(name, digit, pool.names.machine);
    step("given the mask " + wrong + ", which no device is called");
    expect_same("the mask selects", expected_text({}), text_of(enumerate_under(wrong)));
  }
  const auto mask = name + "," + misspelt(name, 31, pool.names.machine);
  step("given a name and a misspelt one");
  expect_same("the mask selects", expected_text({name}), text_of(enumerate_under(mask)));
}

PROCTOR_CHECK(DeviceMask, CudaDevicesFollowListOrder, "V04", kGuide, kGate,
              .faults = {"visibility.use_wrong_mask_order"}) {
  const auto pool = pool_of(2);
  std::vector<std::size_t> positions(std::min<std::size_t>(pool.devices.size(), 3));
  std::iota(positions.begin(), positions.end(), 0U);
  do {
    std::vector<std::string> ordinals, names;
    for (const std::size_t position : positions) {
      ordinals.push_back(pool.ordinal(position));
      names.push_back(pool.uuid(position));
    }
    const auto mask = joined(ordinals, ",");
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text(names), text_of(enumerate_under(mask)));
  } while (std::next_permutation(positions.begin(), positions.end()));
}

PROCTOR_CHECK(DeviceMask, FirstOrdinalsSelectFirstDevices, "V06",
              "ROCm/hip-tests, hipGetDeviceCount.cc, as identities", kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto pool = pool_of();
  std::vector<std::string> ordinals, names;
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    ordinals.push_back(pool.ordinal(i));
    names.push_back(pool.uuid(i));
    const auto mask = joined(ordinals, ",");
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text(names), text_of(enumerate_under(mask)));
  }
}

PROCTOR_CHECK(DeviceMask, CudaListEndsAtInvalidEntry, "V07", kGuide, kGate,
              .faults = {"visibility.skip_invalid_mask_entry"}) {
  const auto pool = pool_of(2);
  for (const char* bad : {"-1", "{N}", "4000"}) {
    const auto pattern = std::string("{0},") + bad + ",{1}";
    const auto mask = std::get<std::string>(mask_value(pattern, pool.names));
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text({pool.uuid(0)}), text_of(enumerate_under(mask)));
  }
}

PROCTOR_CHECK(DeviceMask, LaterProcessSeesHiddenDevices, "V42", kGuide, kGate,
              .faults = {"visibility.show_all_on_empty_selection"}) {
  const auto pool = pool_of();
  step("given a child whose mask selects nothing");
  expect_same("devices that the child sees", expected_text({}), text_of(enumerate_under("-1")));
  step("then a following child sees everything");
  expect_same("the devices afterwards", expected_text(pool.names.pool),
              text_of(enumerate_under(pool.mask())));
}

PROCTOR_CHECK(DeviceOrder, PciBusIdOrderIsAscending, "V18", kGuide, kGate,
              .faults = {"visibility.pci_order_ignored"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given CUDA_DEVICE_ORDER=PCI_BUS_ID");
  const auto addresses = identities(enumerate({{kOrder, kByBus}}), IdentityKind::kPci);
  auto sorted = addresses;
  std::ranges::sort(sorted);
  expect_same("PCI addresses in the order of enumeration", joined(sorted), joined(addresses));
  expect_true(std::ranges::adjacent_find(sorted) == sorted.end(), "no address is listed twice");
}

PROCTOR_CHECK(DeviceOrder, DefaultOrderIsFastestFirst, "V18", kGuide, kWarn,
              .faults = {"visibility.speed_order_ignored"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given no CUDA_DEVICE_ORDER");
  const auto devices = query_child({"speed"}).at("devices");
  for (const auto& device : devices) {
    expect_true(devices[0].at("speed") >= device.at("speed"),
                "the first device is as fast as " + device.at("uuid").get<std::string>());
  }
}

PROCTOR_CHECK(DeviceOrder, FastestFirstMatchesDefaultOrder, "V18", kGuide, kGate,
              .faults = {"visibility.uuid_changes"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given CUDA_DEVICE_ORDER=FASTEST_FIRST");
  const auto named = enumerate({{kOrder, "FASTEST_FIRST"}});
  step("then the same list as without the variable");
  expect_same("the devices without CUDA_DEVICE_ORDER", text_of(named), text_of(enumerate()));
}

// The guide counts devices as nvidia-smi does, by bus. The effect of FASTEST_FIRST on ordinals is measured.
PROCTOR_CHECK(DeviceOrder, CudaMaskOrdinalsFollowDeviceOrder, "V19", kGuide, kWarn,
              .faults = {"visibility.mask_off_by_one"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  for (const char* order : {kByBus, "FASTEST_FIRST"}) {
    const auto whole = enumerate({{kOrder, order}});
    for (std::size_t i = 0; i < whole.devices.size(); ++i) {
      const auto mask = std::to_string(i);
      step(std::string("given mask ") + mask + " under " + order);
      const auto seen = enumerate({{kOrder, order}, {kMask, mask}});
      expect_same("mask " + mask + " under " + order, expected_text({whole.devices[i].uuid}), text_of(seen));
    }
  }
}

// One case for each row of cuda_mask_rows(): the remaining devices and their order under one value of the mask.

namespace {

std::vector<std::string> selected(std::string_view selects, const Pool& pool) {
  if (selects == "none") return {};
  if (selects == "all") return pool.names.pool;
  std::vector<std::string> names;
  std::istringstream positions{std::string(selects)};
  for (std::size_t position = 0; positions >> position;) names.push_back(pool.uuid(position));
  return names;
}

class CudaMaskRowCheck final : public suite::Check {
 public:
  explicit CudaMaskRowCheck(const CudaMaskRow& row) : row_(row) {}

 private:
  std::optional<std::string> value_in(const Pool& pool) const {
    if (row_.value == nullptr) return std::nullopt;
    const auto made = mask_value(row_.value, pool.names);
    if (const auto* lacking = std::get_if<Lacking>(&made)) suite::skip(lacking->what);
    return std::get<std::string>(made);
  }

  // The value as in the row. It means the same on every machine.
  std::string question() const {
    const auto name = std::string(kMask);
    return row_.value == nullptr ? name + " unset" : name + "='" + row_.value + "'";
  }

  void body() override {
    const auto pool = pool_of();
    if (row_.whole_machine_only && !pool.is_whole_machine()) suite::skip("needs:whole_machine");
    const auto value = value_in(pool);
    const auto shown = value ? "'" + *value + "'" : std::string("unset");
    suite::step("given CUDA_VISIBLE_DEVICES " + shown);
    const auto seen = enumerate({{kOrder, kByBus}, {kMask, value}});

    const bool is_open = row_.severity != suite::kGate;
    if (is_open || seen.devices.empty()) observe_selection(question(), seen, pool);

    if (std::string_view(row_.selects) != "once") {
      if (is_open && !suite::on_simgpu()) return;
      suite::expect_same("CUDA_VISIBLE_DEVICES " + shown + " selects",
                         expected_text(selected(row_.selects, pool)), text_of(seen));
      return;
    }
    std::set<std::string> once;
    for (const auto& uuid : uuids(seen)) {
      suite::expect_true(once.insert(uuid).second, uuid + " is listed once under " + shown);
    }
  }

  const CudaMaskRow& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const CudaMaskRow& row : cuda_mask_rows()) {
    suite::add_check({"VisibleDevices", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {row.fault}}},
                     [&row] { return new CudaMaskRowCheck(row); });
  }
  return true;
}();

}  // namespace
}  // namespace proctor::visibility
