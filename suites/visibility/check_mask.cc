// Checks of ZE_AFFINITY_MASK: the devices that it selects, the time at which the driver reads it, and its
// inheritance by processes.
#include <cstdio>
#include <cstdlib>

#include "harness/base/words.h"
#include "harness/journal/child_protocol.h"
#include "suites/main/check.h"
#include "suites/visibility/mask_model.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {

namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kSpec = "Level Zero programming guide, Affinity Mask";
constexpr const char* kParser = "intel/compute-runtime, execution_environment.cpp parseAffinityMask";

std::string shape(const Enumeration& seen) { return text_of(seen, IdentityKind::kNone); }

// The text of a record with cards that have these tiles.
std::string shape_of(const std::vector<std::vector<std::uint32_t>>& tiles) {
  Enumeration whole;
  whole.init = "ZE_RESULT_SUCCESS";
  whole.devices.resize(tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) whole.devices[i].sub_ids = tiles[i];
  return shape(whole);
}

}  // namespace

PROCTOR_CHECK(DeviceMask, UnsetMaskShowsEveryDevice, "V01", kSpec, kGate,
              .faults = {"visibility.wrong_subdevice_count", "visibility.missing_device",
                         "visibility.subdevice_id_wrong", "visibility.init_fail", "host.crash"}) {
  step("given no mask, enumerate");
  const auto seen = enumerate({{kMask, std::nullopt}});

  if (const char* topology = std::getenv(child::kSimTopologyVariable)) {
    const auto tiles = tiles_of_topology(topology);
    if (!tiles) suite::skip("needs:equal_cards");
    expect_same("the devices without a mask", shape_of(*tiles), shape(seen));
    return;
  }
  if (seen.devices.empty()) suite::skip("no_device");
  step("then the management interface, which no mask affects, lists as many");
  const auto sysman = query_child({"sysman", ""});
  if (!sysman.contains("result")) suite::skip("symbol_missing:zesInit");
  if (sysman["result"] != "ZE_RESULT_SUCCESS") suite::skip("needs:sysman");
  expect_same("devices without a mask, against the management interface",
              std::to_string(sysman["devices"].size()), std::to_string(seen.devices.size()));
}

PROCTOR_CHECK(DeviceMask, EmptyAffinityMaskShowsEveryDevice, "V02", kParser, kWarn,
              .faults = {"visibility.uuid_changes"}) {
  const auto unmasked = control();
  step("given the empty mask, which hides everything on CUDA");
  const auto seen = enumerate({{kMask, ""}});

  expect_same("the record under the empty mask", to_json(unmasked).dump(), to_json(seen).dump());
}

PROCTOR_CHECK(DeviceMask, OrdinalSelectsMatchingDevice, "V03", kSpec, kGate,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  const auto kind = required_identity(unmasked);

  for (std::size_t i = 0; i < unmasked.devices.size(); ++i) {
    step("given the mask " + std::to_string(i));
    const auto seen = enumerate({{kMask, std::to_string(i)}});
    expect_same("mask " + std::to_string(i) + " selects", identity(unmasked.devices[i], kind),
                joined(identities(seen, kind)));
  }
}

PROCTOR_CHECK(DeviceMask, LevelZeroDevicesKeepMachineOrder, "V05", kSpec, kGate,
              .faults = {"visibility.use_wrong_mask_order"}) {
  const auto unmasked = control_with_devices(2);
  const auto kind = required_identity(unmasked);
  step("given a list from the last card to the first");
  std::string reversed;
  for (std::size_t i = unmasked.devices.size(); i-- > 0;) reversed += std::to_string(i) + (i > 0 ? "," : "");
  const auto seen = enumerate({{kMask, reversed}});

  expect_same("the order under mask " + reversed, joined(identities(unmasked, kind)),
              joined(identities(seen, kind)));
}

// The cards differ in shape under this mask: card 0 keeps all tiles, card 1 keeps one. The comparison therefore
// needs no identity.
PROCTOR_CHECK(DeviceMask, ListOrderDoesNotReorderTiles, "V05", kSpec, kGate,
              .faults = {"visibility.use_wrong_mask_order"}) {
  const auto unmasked = control_with_tiles(2, 2);
  step("given mask 1.0,0: a tile of card 1 named before card 0");
  const auto seen = enumerate({{kMask, "1.0,0"}});

  const auto expected = select_devices("0,1.0", tiles_of(unmasked));
  expect_same("mask 1.0,0 selects", expected_text(expected, unmasked, IdentityKind::kNone), shape(seen));
}

PROCTOR_CHECK(DeviceMask, FirstOrdinalsSelectFirstDevices, "V06",
              "ROCm/hip-tests, hipGetDeviceCountMproc, as identities", kWarn,
              .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto unmasked = control();
  const auto kind = identity_kind(unmasked);

  for (std::size_t n = 1; n <= unmasked.devices.size(); ++n) {
    step("given the first " + std::to_string(n) + " ordinals");
    const auto seen = enumerate({{kMask, ordinals(n)}});
    const auto expected = select_devices(ordinals(n), tiles_of(unmasked));
    expect_same("mask " + ordinals(n) + " selects", expected_text(expected, unmasked, kind),
                text_of(seen, kind));
  }
}

PROCTOR_CHECK(DeviceMask, LevelZeroSkipsInvalidEntry, "V08", kParser, kWarn,
              .faults = {"visibility.end_mask_at_invalid_entry"}) {
  control_with_devices(2);
  step("given mask 0,1");
  const auto clean = enumerate({{kMask, "0,1"}});

  for (const char* mask : {"0,4000,1", "0,-1,1", "4000,0,1", "0,1,4000", "0,1.4000,1"}) {
    step(std::string("given mask ") + mask);
    expect_same(std::string("mask ") + mask + " against 0,1", to_json(clean).dump(),
                to_json(enumerate({{kMask, mask}})).dump());
  }
}

PROCTOR_CHECK(DeviceMask, OrdinalPastEndSelectsNothing, "V09", kParser, kWarn,
              .faults = {"visibility.show_all_on_empty_selection"}) {
  const auto unmasked = control();
  const auto past_the_end = std::to_string(unmasked.devices.size());
  step("given mask " + past_the_end + ", the first ordinal that does not exist");
  const auto seen = enumerate({{kMask, past_the_end}});

  expect_same("mask " + past_the_end + " selects", expected_text({}, unmasked, IdentityKind::kNone),
              shape(seen));
}

PROCTOR_CHECK(DeviceMask, DuplicateEntrySelectsDeviceOnce, "V10", kParser, kWarn,
              .faults = {"visibility.list_repeated_device_twice"}) {
  const auto unmasked = control();
  const auto kind = identity_kind(unmasked);
  for (const char* doubled : {"0,0", "0,0,0", "0.0,0.0"}) {
    step(std::string("given mask ") + doubled);
    // The selection is a set, so each tile is in it once.
    const auto expected = select_devices(doubled, tiles_of(unmasked));
    expect_same(std::string("mask ") + doubled + " selects", expected_text(expected, unmasked, kind),
                text_of(enumerate({{kMask, doubled}}), kind));
  }
}

PROCTOR_CHECK(DeviceMask, BlanksAreIgnored, "V11", kParser, kWarn, .faults = {"visibility.uuid_changes"}) {
  control_with_devices(2);
  step("given mask 0,1");
  const auto clean = enumerate({{kMask, "0,1"}});

  for (const char* mask : {"0, 1", " 0 , 1 ", "  0,1", "0 ,\t1"}) {
    step(std::string("given mask '") + mask + "'");
    expect_same(std::string("mask '") + mask + "' against 0,1", to_json(clean).dump(),
                to_json(enumerate({{kMask, mask}})).dump());
  }
}

// The entries name tiles by their own numbers. The specification numbers the remaining tiles from 0.
PROCTOR_CHECK(DeviceMask, TileEntriesSelectMatchingTiles, "V38", kParser, kWarn,
              .faults = {"visibility.tile_mask_ignored"}) {
  const auto unmasked = control_with_tiles(1, 2);
  const auto kind = identity_kind(unmasked);
  const std::size_t tiles = unmasked.devices[0].sub_ids.size();

  // Tries every set of tiles of the first card that contains its first tile, and every single tile.
  for (std::size_t set = 1; set < (std::size_t{1} << tiles); ++set) {
    const bool single = (set & (set - 1)) == 0;
    if ((set & 1) == 0 && !single) continue;
    std::string mask;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      if ((set >> tile & 1) != 0) mask += (mask.empty() ? "0." : ",0.") + std::to_string(tile);
    }
    step("given mask " + mask);
    const auto expected = select_devices(mask, tiles_of(unmasked));
    expect_same("mask " + mask + " selects", expected_text(expected, unmasked, kind),
                text_of(enumerate({{kMask, mask}}), kind));
  }
}

PROCTOR_CHECK(DeviceMask, LaterProcessSeesHiddenDevices, "V42", kSpec, kGate,
              .faults = {"visibility.uuid_changes", "visibility.ignore_mask"}) {
  const auto before = control_with_devices(2);
  step("given a child whose mask hides all devices but the first");
  const auto hidden = enumerate({{kMask, "0"}});
  expect_same("devices under mask 0", "1", std::to_string(hidden.devices.size()));
  step("then a following child without a mask sees everything");
  expect_same("the devices afterwards", to_json(before).dump(), to_json(enumerate()).dump());
}

// One case for each row of mask_rows(): the result of zeInit and the remaining devices and tiles under one value
// of the mask.

namespace {

// The tiles of each card. For a simulated machine they are known from its topology. For hardware they are those
// that the driver lists without a mask.
std::vector<std::vector<std::uint32_t>> tiles_of_machine(const Enumeration& unmasked) {
  const char* topology = std::getenv(child::kSimTopologyVariable);
  const auto known = topology == nullptr ? std::nullopt : tiles_of_topology(topology);
  if (!known) return tiles_of(unmasked);
  if (known->size() != unmasked.devices.size()) {
    suite::fail_because("wrong_count", "the driver lists " + std::to_string(unmasked.devices.size()) +
                                           " devices of --sim " + topology);
  }
  return *known;
}

// Skips the check unless every device and tile of the selection exists. In an entry such as 2.1, 1 is the tile of
// device 2. The result of an entry for a device that does not exist is not specified.
void need_all_of(std::string_view selects, const std::vector<std::vector<std::uint32_t>>& tiles) {
  for (const auto& entry : split(selects, ',')) {
    std::size_t device = 0;
    std::size_t tile = 0;
    const int read = std::sscanf(std::string(entry).c_str(), "%zu.%zu", &device, &tile);
    if (read >= 1 && device >= tiles.size()) suite::skip("needs:devices>=" + std::to_string(device + 1));
    if (read == 2 && tile >= tiles[device].size()) suite::skip("needs:tiles>=" + std::to_string(tile + 1));
  }
}

class MaskRowCheck final : public suite::Check {
 public:
  explicit MaskRowCheck(const MaskRow& row) : row_(row) {}

 private:
  void body() override {
    suite::step("enumerate without a mask");
    const auto unmasked = control();
    const auto kind = has_pci_identity(unmasked) ? IdentityKind::kPci : IdentityKind::kNone;
    const auto tiles = tiles_of_machine(unmasked);
    if (row_.severity == suite::kGate && !suite::on_simgpu()) need_all_of(row_.selects, tiles);
    suite::step("enumerate with the mask of the row");
    const auto value = row_.value == nullptr ? std::nullopt : std::optional<std::string>(row_.value);
    const auto seen = enumerate({{kMask, value}});

    const auto expected = select_devices(row_.selects, tiles);
    suite::expect_same(std::string("ZE_AFFINITY_MASK ") + (value ? "'" + *value + "'" : "unset") + " selects",
                       expected_text(expected, unmasked, kind), seen_text(seen, kind));
  }

  const MaskRow& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const MaskRow& row : mask_rows()) {
    suite::add_check({"AffinityMask", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {row.fault}}},
                     [&row] { return new MaskRowCheck(row); });
  }
  return true;
}();

}  // namespace

// Checks of the time at which the driver reads the mask, and of its inheritance by processes.

namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

std::string text(const Enumeration& seen) { return to_json(seen).dump(); }

}  // namespace

// The specification allows a process to initialise again with other variables. Intel's driver reads the variables
// once.
PROCTOR_CHECK(Process, MaskAfterInitHasNoEffect, "V20", "measured: the driver reads the variable at its load",
              kWarn, .faults = {"visibility.reread_environment_after_init"}) {
  control_with_devices(2);
  step("given a process that enumerates, sets ZE_AFFINITY_MASK=0 and initializes again");
  const auto answer = query_child({"setenv-after-init", kMask, "0"});

  expect_same("devices that the process sees the second time", text(record(answer, "seen")),
              text(record(answer, "again")));
}

PROCTOR_CHECK(Process, MaskBeforeInitTakesEffect, "V21",
              "Level Zero specification, zeInit: environment variables", kGate,
              .faults = {"visibility.read_mask_at_process_start", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  step("given a process that was started with mask 0");
  const auto started_with = enumerate({{kMask, "0"}});
  step("and one that sets it itself before the first call");
  const auto answer = query_child({"enumerate-after-setenv", kMask, "0"});

  expect_same("devices that the process sees", text(started_with), text(record(answer, "seen")));
  expect_true(started_with.devices.size() < unmasked.devices.size(),
              "the process sees fewer devices than the machine has");
}

PROCTOR_CHECK(Process, GrandchildInheritsMask, "V22", "Level Zero programming guide, Environment Variables",
              kGate, .faults = {"visibility.uuid_changes", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  const auto expected = enumerate({{kMask, "0"}});
  step("given a child under mask 0 that execs a child of its own");
  const auto seen = record(query_child({"grandchild"}, {{kMask, "0"}}), "seen");

  expect_same("devices that the grandchild sees", text(expected), text(seen));
  expect_true(seen.devices.size() < unmasked.devices.size(),
              "the grandchild sees fewer devices than the machine has");
}

PROCTOR_CHECK(Process, DisjointMasksShareNoDevice, "V46", "Level Zero programming guide, Affinity Mask",
              kGate, .faults = {"visibility.mask_off_by_one", "visibility.ignore_mask"}) {
  const auto unmasked = control_with_devices(2);
  const auto kind = required_identity(unmasked);
  step("given two processes at the same time, under mask 0 and under mask 1");
  Child first({"hold"}, {{kMask, "0"}});
  Child second({"hold"}, {{kMask, "1"}});
  const auto first_seen = record(accept(first.finish(), {{kMask, "0"}}), "seen");
  const auto second_seen = record(accept(second.finish(), {{kMask, "1"}}), "seen");

  expect_same("devices that the first process sees", identity(unmasked.devices[0], kind),
              joined(identities(first_seen, kind)));
  expect_same("devices that the second process sees", identity(unmasked.devices[1], kind),
              joined(identities(second_seen, kind)));
}

}  // namespace proctor::visibility
