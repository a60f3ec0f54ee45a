// What CUDA_VISIBLE_DEVICES selects, beyond the single values of check_mask_rows.cc, and the order that its
// ordinals count in.
#include <algorithm>
#include <numeric>

#include "suites/main/check.h"
#include "suites/visibility/cuda/guide.h"
#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {
namespace {

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
  expect_same("the child sees", expected_text({}), text_of(enumerate_under("-1")));
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
  step("then it lists as without the variable");
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

}  // namespace proctor::visibility
