// A model of ZE_AFFINITY_MASK in the COMPOSITE hierarchy: the devices and tiles that a mask selects, as a text
// that checks compare with the record of a process. The functions are pure functions of the selection and the
// machine, so one table serves every topology.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suites/main/check.h"
#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// One visible device: its card in the unmasked machine, and the remaining tiles, which are its sub-devices. A card
// with one remaining tile has no sub-devices: it collapses into that tile (compute-runtime,
// Device::genericSubDevicesAllowed).
struct ExpectedDevice {
  std::size_t card = 0;
  std::vector<std::uint32_t> sub_ids;

  friend bool operator==(const ExpectedDevice&, const ExpectedDevice&) = default;
};

// The devices that `selection` leaves. `selection` is canonical: "all", "none", or entries N and N.M separated by
// commas. Entries past the machine's end select nothing. Order and repetition do not matter (Level Zero
// programming guide, "Affinity Mask"). `tiles[card]` are the subdeviceIds of each card of the unmasked machine,
// empty for a card without tiles.
std::vector<ExpectedDevice> select_devices(std::string_view selection,
                                           const std::vector<std::vector<std::uint32_t>>& tiles);

// The result as one line of text, so that a failure shows all of it:
//   "ZE_RESULT_SUCCESS card:[0 1] card:[]"              without identity
//   "ZE_RESULT_SUCCESS 0000:03:00.0:[0 1]"              with it
std::string expected_text(const std::vector<ExpectedDevice>& expected, const Enumeration& control,
                          IdentityKind kind);
std::string seen_text(const Enumeration& seen, IdentityKind kind);

// The tiles of each card of an unmasked COMPOSITE enumeration.
std::vector<std::vector<std::uint32_t>> tiles_of(const Enumeration& control);
// The tiles of simulated cards, which are all equal: "xpu:2x2", "xpu:2x2,cuda:4". nullopt: the text has another
// form.
std::optional<std::vector<std::vector<std::uint32_t>>> tiles_of_topology(const char* topology);

// A value of ZE_AFFINITY_MASK and the devices that it selects under ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE. Each row
// is one case AffinityMask.NAME.
struct MaskRow {
  const char* name;
  const char* value;    // nullptr: the variable is unset
  const char* selects;  // canonical selection, see mask_model.h
  const char* rule;
  const char* source;
  suite::Severity severity;
  // A fault of the simulator that makes the row fail on two cards with two tiles each.
  const char* fault = "visibility.mask_off_by_one";
};

std::span<const MaskRow> mask_rows();

}  // namespace proctor::visibility
