#include "harness/classify/xid_meaning.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace proctor {
namespace {

struct Xid {
  int number;
  std::string_view meaning;
};

// Sorted by number, for the binary search.
constexpr std::array kXids{
    Xid{8, "GPU stopped processing"},
    Xid{11, "invalid or corrupted push buffer stream"},
    Xid{13, "graphics engine exception"},
    Xid{25, "invalid or illegal push buffer stream"},
    Xid{31, "GPU memory page fault (MMU fault)"},
    Xid{32, "invalid or corrupted push buffer stream"},
    Xid{37, "driver firmware error"},
    Xid{38, "driver firmware error"},
    Xid{39, "copy engine exception"},
    Xid{40, "copy engine exception"},
    Xid{41, "copy engine exception"},
    Xid{43, "GPU stopped processing"},
    Xid{44, "graphics engine fault during context switch"},
    Xid{45, "preemptive cleanup, due to previous errors"},
    Xid{46, "GPU stopped processing"},
    Xid{48, "double bit ECC error"},
    Xid{54, "auxiliary power is not connected to the GPU board"},
    Xid{60, "video processor exception"},
    Xid{61, "internal micro-controller breakpoint or warning"},
    Xid{62, "internal micro-controller halt"},
    Xid{63, "GPU memory remapping event (row remapping or page retirement)"},
    Xid{64, "GPU memory remapping failure (row remapping or page retirement)"},
    Xid{66, "illegal access by driver"},
    Xid{67, "illegal access by driver"},
    Xid{68, "NVDEC0 exception"},
    Xid{69, "graphics engine class error"},
    Xid{70, "unknown error of copy engine 3"},
    Xid{71, "unknown error of copy engine 4"},
    Xid{72, "unknown error of copy engine 5"},
    Xid{74, "NVLink error"},
    Xid{75, "unknown error of copy engine 6"},
    Xid{76, "unknown error of copy engine 7"},
    Xid{77, "unknown error of copy engine 8"},
    Xid{78, "vGPU start error"},
    Xid{79, "GPU has fallen off the bus"},
    Xid{80, "corrupted data sent to GPU"},
    Xid{82, "NVJPG0 error"},
    Xid{83, "NVDEC1 error"},
    Xid{84, "NVDEC2 error"},
    Xid{85, "unknown error of copy engine 9"},
    Xid{86, "OFA exception"},
    Xid{88, "NVDEC3 error"},
    Xid{89, "NVDEC4 error"},
    Xid{92, "high single-bit ECC error rate"},
    Xid{93, "non-fatal violation of provisioned InfoROM wear limit"},
    Xid{94, "contained memory error"},
    Xid{95, "uncontained memory error"},
    Xid{109, "context switch timeout"},
    Xid{110, "security fault error"},
    Xid{119, "GSP RPC timeout"},
    Xid{120, "GSP error"},
    Xid{121, "C2C link error"},
    Xid{136, "link training failed"},
    Xid{137, "NVLink privilege error"},
    Xid{139, "OFA1 error"},
    Xid{140, "unrecovered ECC error"},
    Xid{141, "CUDA fast path error"},
    Xid{142, "NVENC3 error"},
    Xid{143, "GPU initialization error"},
    Xid{144, "NVLink SAW error"},
    Xid{145, "NVLink RLW error"},
    Xid{146, "NVLink TLW error"},
    Xid{147, "NVLink TREX error"},
    Xid{148, "NVLink NVLPW_CTRL error"},
    Xid{149, "NVLink NETIR error"},
    Xid{150, "NVLink MSE error"},
    Xid{151, "key rotation error"},
    Xid{152, "DLA SMMU error"},
    Xid{153, "DLA timeout"},
    Xid{154, "GPU recovery action changed"},
    Xid{155, "NVLink software-defined error"},
    Xid{156, "resource retirement event"},
    Xid{157, "resource retirement failure"},
    Xid{158, "GPU fatal timeout"},
    Xid{159, "CHI non-data error"},
    Xid{160, "channel retirement event"},
    Xid{161, "channel retirement failure"},
    Xid{162, "power smoothing hardware capability re-engaged"},
    Xid{163, "power smoothing hardware capability disengaged"},
    Xid{164, "power smoothing hardware has a low remaining lifetime"},
    Xid{165, "power smoothing hardware has exhausted its lifetime"},
    Xid{166, "traffic before the link was configured for encryption"},
    Xid{167, "fatal PCIe timeout"},
    Xid{168, "errors found in the write-protected region of memory"},
    Xid{169, "internal micro-controller halt"},
    Xid{170, "interrupt in confidential computing mode"},
    Xid{171, "uncorrectable DRAM error, in addition to Xid 48"},
    Xid{172, "uncorrectable SRAM error, in addition to Xid 48"},
};
static_assert(std::ranges::is_sorted(kXids, {}, &Xid::number));

constexpr std::string_view kGroup = "xid:";

}  // namespace

std::optional<std::string_view> xid_meaning(int number) {
  const auto* const found = std::ranges::lower_bound(kXids, number, {}, &Xid::number);
  if (found == kXids.end() || found->number != number) return std::nullopt;
  return found->meaning;
}

std::optional<int> xid_number(std::string_view id) {
  if (!id.starts_with(kGroup)) return std::nullopt;
  id.remove_prefix(kGroup.size());
  int number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

}  // namespace proctor
