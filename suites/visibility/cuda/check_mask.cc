// What CUDA_VISIBLE_DEVICES selects, as single values and beyond them, and the order that its
// ordinals count in.
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

// The truth table of CUDA_VISIBLE_DEVICES as data; each row is a case of the suite.
struct CudaMaskRow {
  const char* name;     // number in the table, and what is special about it
  const char* value;    // in the words of mask_values.h; null: not set
  const char* selects;  // devices of the pool, "1 0"; "all"; "none"; "once": whatever it is, none of them
                        // twice
  const char* rule;
  const char* source;
  suite::Severity severity;
  const char* fault;
  // A driver that reads the value differently might show devices outside of the pool. So the row runs only if
  // the pool is the whole machine.
  bool whole_machine_only = false;
};

using suite::kGate;
using suite::kInfo;
using suite::kWarn;

constexpr const char* kPyTorch = "PyTorch, torch/cuda/__init__.py _parse_visible_devices";
constexpr const char* kHip = "ROCm/hip-tests, hipSetGetDeviceMproc.cc, also run on NVIDIA";
constexpr const char* kMig = "NVIDIA Multi-Instance GPU User Guide, Device Names";

constexpr const char* kOffByOne = "visibility.mask_off_by_one";
constexpr const char* kOrderLost = "visibility.mask_order_lost";
constexpr const char* kGoesOn = "visibility.mask_goes_on";
constexpr const char* kNothingMeansAll = "visibility.nothing_means_all";
constexpr const char* kTwice = "visibility.repeated_entry_twice";
constexpr const char* kMixed = "visibility.mixed_mask_accepted";
constexpr const char* kCut = "visibility.mask_cut";
constexpr const char* kPrefixRefused = "visibility.uuid_prefix_refused";

constexpr CudaMaskRow kRows[] = {
    {"1_unset", nullptr, "all", "V01", kGuide, kGate, "visibility.uuid_changes", true},
    {"2_empty", "", "none", "V02", kGuide, kGate, kNothingMeansAll},
    {"3a_first", "{0}", "0", "V03", kGuide, kGate, kOffByOne},
    {"3b_second", "{1}", "1", "V03", kGuide, kGate, kOffByOne},
    {"4a_reversed", "{1},{0}", "1 0", "V04", kGuide, kGate, kOrderLost},
    {"4b_guide_example", "{2},{1}", "2 1", "V04", kGuide, kGate, kOrderLost},
    {"5_prefix_list", "{0},{1},{2}", "0 1 2", "V06", kHip, kGate, kOffByOne},
    {"5b_five_in_another_order", "{4},{2},{0},{3},{1}", "4 2 0 3 1", "V04", kGuide, kGate, kCut},
    {"6_minus_one", "-1", "none", "V09", kGuide, kGate, kNothingMeansAll},
    {"7a_minus_one_inside", "{0},{2},-1,{1}", "0 2", "V07", kGuide, kGate, kGoesOn},
    {"7b_minus_one_second", "{0},-1,{1}", "0", "V07", kGuide, kGate, kGoesOn},
    {"8_one_past_the_end", "{N}", "none", "V09", kGuide, kGate, kNothingMeansAll},
    {"9_out_of_range_inside", "{0},{N},{1}", "0", "V07", kGuide, kGate, kGoesOn},
    {"10_out_of_range_first", "{N},{0}", "none", "V07", kGuide, kGate, kGoesOn},
    {"11a_twice", "{0},{0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"11b_twice_later", "{0},{1},{2},{1}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"12a_blank_after_comma", "{0}, {1}", "0 1", "V11", kPyTorch, kWarn, kOffByOne},
    {"12b_blanks_around", " {1} ,{0}", "1 0", "V11", kPyTorch, kInfo, kOrderLost},
    {"13a_blank", " ", "none", "V12", kPyTorch, kInfo, kNothingMeansAll},
    {"13b_comma", ",", "none", "V12", kPyTorch, kInfo, kNothingMeansAll},
    {"13c_trailing_comma", "{0},", "0", "V12", kPyTorch, kInfo, kOffByOne},
    {"14_tails", "{1}gpu2,{2}ampere", "1 2", "V12", kPyTorch, kWarn, kOffByOne},
    {"15a_plus", "{2},+{1},{0}", "2 1 0", "V12", kPyTorch, kWarn, kOrderLost},
    {"15b_minus_zero", "-{zero}", "0", "V12", kPyTorch, kWarn, kOffByOne},
    {"16a_words_first", "one,two,{0}", "none", "V12", kPyTorch, kWarn, kGoesOn},
    {"16b_words_last", "{1},{0},two,one", "1 0", "V07", kPyTorch, kWarn, kOrderLost},
    {"16c_huge", "99999999999999999999999", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16d_256", "256", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16e_65536", "65536", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16f_2_to_the_31", "2147483648", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16g_2_to_the_32", "4294967296", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16h_1_more", "4294967297", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16i_2_to_the_64", "18446744073709551616", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16j_minus_256", "-256", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16k_large_behind_a_good_one", "{1},256,{0}", "1", "V07", kGuide, kGate, kGoesOn},
    {"16l_digits_behind_a_good_one", "{1}999999", "none", "V12", kGuide, kWarn, kNothingMeansAll},
    {"16m_leading_zeros", "00{1},0{0}", "1 0", "V12", kPyTorch, kWarn, kOrderLost},
    {"17a_uuid", "{uuid0}", "0", "V13", kGuide, kGate, kOffByOne},
    {"17b_uuid_of_second", "{uuid1}", "1", "V13", kGuide, kGate, kOffByOne},
    {"18a_unique_prefix", "{prefix0}", "0", "V13", kGuide, kGate, kPrefixRefused},
    {"18b_unique_prefix_of_second", "{prefix1}", "1", "V13", kGuide, kGate, kPrefixRefused},
    {"19a_ambiguous_prefix", "{common}", "none", "V14", kPyTorch, kWarn,
     "visibility.ambiguous_prefix_accepted"},
    {"19b_unknown_uuid_inside", "{uuid1},GPU-ffffffff-ffff-ffff-ffff-ffffffffffff,{uuid0}", "1", "V07",
     kPyTorch, kWarn, kGoesOn},
    {"19c_no_digits", "GPU-", "none", "V14", kPyTorch, kInfo, kNothingMeansAll},
    {"20_uuid_without_gpu", "{bare0}", "none", "V12", kGuide, kInfo, kNothingMeansAll, true},
    {"21a_uuids_in_order", "{uuid2},{uuid1}", "2 1", "V15", kGuide, kGate, kOrderLost},
    {"21b_prefixes_in_order", "{prefix1},{prefix0}", "1 0", "V15", kGuide, kGate, kOrderLost},
    {"21e_five_uuids", "{uuid3},{uuid1},{uuid4},{uuid0},{uuid2}", "3 1 4 0 2", "V15", kGuide, kGate, kCut},
    {"21c_uuid_twice", "{uuid0},{uuid0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"21d_uuid_and_its_prefix", "{uuid0},{prefix0}", "once", "V10", kPyTorch, kWarn, kTwice},
    {"22_ordinal_after_uuid", "{uuid1},{0}", "1", "V16", kPyTorch, kWarn, kMixed},
    {"23_uuid_after_ordinal", "{0},{uuid1}", "0", "V16", kPyTorch, kInfo, kMixed},
    {"24_mig_that_is_not_there", "MIG-5c0a7a9e-3b1f-5d52-8a0e-1f9d2c4b6e80", "none", "V17", kMig, kWarn,
     kNothingMeansAll},
    {"25_mig_of_a_whole_gpu", "MIG-{uuid0}/1/0", "none", "V17", kMig, kInfo, kNothingMeansAll},
    {"27a_void", "void", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"27b_none", "none", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"27c_all", "all", "none", "V12", kGuide, kInfo, kNothingMeansAll},
    {"27d_no_dev_files", "NoDevFiles", "none", "V12", kGuide, kInfo, kNothingMeansAll},
};

std::span<const CudaMaskRow> cuda_mask_rows() { return kRows; }

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kInfo;
using suite::kWarn;
using suite::step;

}  // namespace

PROCTOR_CHECK(Mask, OrdinalSelectsThatDevice, "V03", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto pool = pool_of(2);
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    const auto mask = pool.ordinal(i);
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text({pool.uuid(i)}), text_of(enumerate_under(mask)));
  }
}

PROCTOR_CHECK(Mask, NameSelectsThatDevice, "V13", kGuide, kGate, .faults = {"visibility.mask_off_by_one"}) {
  const auto pool = pool_of(2);
  for (const auto& name : pool.names.pool) {
    step("given the mask " + name);
    expect_same("the mask selects", expected_text({name}), text_of(enumerate_under(name)));
  }
}

PROCTOR_CHECK(Mask, NameMeansTheSameInEveryOrder, "V13", kGuide, kGate,
              .faults = {"visibility.mask_off_by_one"}) {
  const auto pool = pool_of(2);
  for (const char* order : {kByBus, "FASTEST_FIRST"}) {
    step(std::string("given all names under CUDA_DEVICE_ORDER=") + order);
    const auto seen = enumerate({{kOrder, order}, {kMask, pool.mask()}});
    expect_same("the devices", expected_text(pool.names.pool), text_of(seen));
  }
}

namespace {

// The name with its digit of this number changed to another one, so that no device of the machine has it.
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

// The guide asks for enough digits to identify a device, and does not say that more than those are compared.
PROCTOR_CHECK(Mask, EveryDigitOfANameCounts, "V13", kGuide, kWarn,
              .faults = {"visibility.nothing_means_all"}) {
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

PROCTOR_CHECK(Mask, ListOrdersTheDevices, "V04", kGuide, kGate, .faults = {"visibility.mask_order_lost"}) {
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

PROCTOR_CHECK(Mask, PrefixListSelectsThatMany, "V06", "ROCm/hip-tests, hipGetDeviceCount.cc, as identities",
              kGate, .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
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

PROCTOR_CHECK(Mask, FirstBadEntryEndsTheList, "V07", kGuide, kGate, .faults = {"visibility.mask_goes_on"}) {
  const auto pool = pool_of(2);
  for (const char* bad : {"-1", "{N}", "4000"}) {
    const auto pattern = std::string("{0},") + bad + ",{1}";
    const auto mask = std::get<std::string>(mask_value(pattern, pool.names));
    step("given the mask " + mask);
    expect_same("mask " + mask + " selects", expected_text({pool.uuid(0)}), text_of(enumerate_under(mask)));
  }
}

PROCTOR_CHECK(Mask, HiddenDevicesComeBack, "V42", kGuide, kGate, .faults = {"visibility.nothing_means_all"}) {
  const auto pool = pool_of();
  step("given a child whose mask selects nothing");
  expect_same("devices that the child sees", expected_text({}), text_of(enumerate_under("-1")));
  step("then a following child sees everything");
  expect_same("the devices afterwards", expected_text(pool.names.pool),
              text_of(enumerate_under(pool.mask())));
}

PROCTOR_CHECK(Order, ByBusIsAscending, "V18", kGuide, kGate, .faults = {"visibility.pci_order_ignored"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given CUDA_DEVICE_ORDER=PCI_BUS_ID");
  const auto addresses = identities(enumerate({{kOrder, kByBus}}), IdentityKind::kPci);
  auto sorted = addresses;
  std::ranges::sort(sorted);
  expect_same("PCI addresses in the order of enumeration", joined(sorted), joined(addresses));
  expect_true(std::ranges::adjacent_find(sorted) == sorted.end(), "no address is listed twice");
}

PROCTOR_CHECK(Order, DefaultIsFastestFirst, "V18", kGuide, kWarn,
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

PROCTOR_CHECK(Order, NamedDefaultIsTheDefault, "V18", kGuide, kGate, .faults = {"visibility.uuid_changes"}) {
  const auto pool = pool_of(2);
  if (!pool.is_whole_machine()) suite::skip("needs:whole_machine");
  step("given CUDA_DEVICE_ORDER=FASTEST_FIRST");
  const auto named = enumerate({{kOrder, "FASTEST_FIRST"}});
  step("then the same list as without the variable");
  expect_same("the devices without CUDA_DEVICE_ORDER", text_of(named), text_of(enumerate()));
}

// The guide counts as nvidia-smi does, which is by bus; that FASTEST_FIRST changes what an ordinal means is measured.
PROCTOR_CHECK(Order, OrdinalsCountInTheOrderInForce, "V19", kGuide, kWarn,
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

// One case per row of cuda_mask_rows(): given a value of the mask, which devices are left, in which order.

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

  // In the words of the row, which mean the same on every machine.
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
    suite::add_check({"MaskRow", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {row.fault}}},
                     [&row] { return new CudaMaskRowCheck(row); });
  }
  return true;
}();

}  // namespace
}  // namespace proctor::visibility
