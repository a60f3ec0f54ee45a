#include "harness/devices/masks/mask_table.h"

#include <algorithm>

namespace proctor {
namespace {

constexpr std::string_view kGuide = "NVIDIA CUDA Programming Guide, \"CUDA Environment Variables\"";
constexpr std::string_view kPyTorch =
    "PyTorch torch/cuda/__init__.py _parse_visible_devices, a model of the driver";
constexpr std::string_view kPyTorchTests =
    "PyTorch test/test_cuda_nvml_based_avail.py TestVisibleDeviceParses";
constexpr std::string_view kHipCount =
    "ROCm/hip-tests catch/unit/device/hipGetDeviceCount.cc, also run on NVIDIA";
constexpr std::string_view kHipInvalid =
    "ROCm/hip-tests catch/multiproc/hipSetGetDeviceMproc.cc, also run on NVIDIA";
constexpr std::string_view kMigGuide = "NVIDIA Multi-Instance GPU User Guide, \"Device Names\"";

constexpr std::string_view kUuids[] = {
    "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "GPU-0a6b1c2d-93f1-4c1e-8d2b-6f7a1e5c3b90",
    "GPU-8932f9aa-11aa-4b0c-9d77-5e2f4c8a7b16",
};
constexpr std::string_view kMigUuid = "MIG-5c0a7a9e-3b1f-5d52-8a0e-1f9d2c4b6e80";
constexpr std::string_view kMigLegacy = "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0";

constexpr CudaMaskRow kCudaRows[] = {
    // number slug value devices | visible, in CUDA's order | well formed | evidence | source | note
    {1, "unset", std::nullopt, 3, "0 1 2", true, "S", kGuide},
    {2, "empty", "", 3, "nothing", true, "S", kGuide, "the opposite of ZE_AFFINITY_MASK=''"},
    {3, "first", "0", 3, "0", true, "S,T", kGuide},
    {4, "reversed", "1,0", 3, "1 0", true, "S", kGuide, "a mask reorders"},
    {4, "guide_example", "2,1", 3, "2 1", true, "S", kGuide, "a mask reorders"},
    {5, "prefix", "0,1,2", 4, "0 1 2", true, "T", kHipCount},
    {6, "minus_one", "-1", 3, "nothing", true, "S,T", kHipInvalid},
    {7, "minus_one_inside", "0,2,-1,1", 3, "0 2", true, "S", kGuide, "its literal example"},
    {7, "minus_one_second", "0,-1,1", 3, "0", true, "S", kGuide, "Level Zero would skip the bad entry only"},
    {8, "one_past_the_end", "3", 3, "nothing", true, "S,T", kHipInvalid},
    {9, "out_of_range_inside", "0,99,1", 3, "0", true, "S", kGuide},
    {10, "out_of_range_first", "99,0", 3, "nothing", true, "S", kGuide},
    {11, "repeated", "0,0", 3, "nothing", true, "T,F", kPyTorchTests, "NVIDIA's text is silent"},
    {11, "repeated_later", "0,1,2,1", 3, "nothing", true, "T,F", kPyTorchTests, "NVIDIA's text is silent"},
    {12, "blank_after_comma", "0, 1", 3, "0 1", true, "T,F", kPyTorch, "NVIDIA's text is silent"},
    {13, "blank_only", " ", 3, "nothing", false, "F", kPyTorch, "NVIDIA's text is silent"},
    {13, "comma_only", ",", 3, "nothing", false, "F", kPyTorch, "NVIDIA's text is silent"},
    {14, "tails", "1gpu2,2ampere", 3, "1 2", false, "T,F", kPyTorchTests, "the tail is ignored"},
    {15, "signs", "2,+3,-0,5", 6, "2 3 0 5", false, "T,F", kPyTorchTests},
    {16, "words", "one,two,3,4", 6, "nothing", false, "T", kPyTorchTests},
    {16, "words_last", "4,3,two,one", 6, "4 3", false, "T", kPyTorchTests},
    {17, "full_uuid", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 3, "0", true, "S", kGuide,
     "as nvidia-smi -L"},
    {18, "unique_prefix", "GPU-8932f937", 3, "0", true, "S", kGuide, "enough digits to identify it uniquely"},
    {19, "ambiguous_prefix", "GPU-8932f9", 3, "nothing", true, "T,F", kPyTorch},
    {19, "unknown_uuid_second", "GPU-0a6b1c2d,GPU-ffff,GPU-8932f937", 3, "1", true, "T,F", kPyTorch},
    {20, "uuid_without_gpu", "8932f937-d72c-4106-c12f-20bd9faed9f6", 3, "nothing", false, "F", kGuide,
     "PyTorch's model reads its leading digits as an ordinal"},
    {21, "uuids_in_order", "GPU-8932f9aa,GPU-0a6b1c2d", 3, "2 1", true, "S", kGuide},
    {21, "uuid_repeated", "GPU-0a6b1c2d,GPU-0a6b1c2d", 3, "nothing", true, "T,F", kPyTorch},
    {21, "uuid_repeated_by_prefix", "GPU-0a6b1c2d,GPU-0a6b", 3, "nothing", true, "T,F", kPyTorch},
    {22, "ordinal_after_uuid", "GPU-0a6b1c2d,2", 3, "1", true, "T,F", kPyTorchTests},
    {23, "uuid_after_ordinal", "0,GPU-0a6b1c2d", 3, "0", true, "F", kPyTorch},
    {24, "mig", kMigUuid, 3, kMigUuid, true, "S", kMigGuide, "driver R470 and later"},
    {25, "mig_legacy", kMigLegacy, 3, kMigLegacy, true, "S", kMigGuide, "drivers before R470"},
    {27, "void", "void", 3, "nothing", false, "F", kGuide, "a word of container runtimes"},
    {27, "none", "none", 3, "nothing", false, "F", kGuide, "a word of container runtimes"},
    {27, "all", "all", 3, "nothing", false, "F", kGuide, "a word of container runtimes"},
    {27, "no_dev_files", "NoDevFiles", 3, "nothing", false, "F", kGuide, "a word of Slurm"},
};

}  // namespace

std::span<const CudaMaskRow> cuda_mask_table() { return kCudaRows; }

std::span<const std::string_view> table_uuids() { return kUuids; }

const CudaMaskRow* find_cuda_row(std::string_view value) {
  const auto row = std::find_if(std::begin(kCudaRows), std::end(kCudaRows),
                                [&](const auto& r) { return r.value == value; });
  return row == std::end(kCudaRows) ? nullptr : row;
}

namespace cuda_rules {
const MaskRule kEmpty{"'' hides every device", "S", kGuide};
const MaskRule kOrder{"the mask is a list: its order is the order of the devices", "S", kGuide};
const MaskRule kEnds{"the first entry that names no device hides itself and every entry after it", "S",
                     kGuide};
const MaskRule kNames{"GPU- and enough digits of a UUID to be unique name one device", "S", kGuide};
const MaskRule kMig{"MIG- names one compute instance", "S", kMigGuide};
const MaskRule kMixed{"an entry of another kind than the first ends the list", "T,F", kPyTorch};
const MaskRule kDuplicate{"a device named twice hides every device; NVIDIA's text is silent", "T,F",
                          kPyTorch};
const MaskRule kTail{"a number may have a sign, and its tail is ignored; NVIDIA's text is silent", "T,F",
                     kPyTorch};
const MaskRule kPciOrder{
    "ordinals count in PCI order only under CUDA_DEVICE_ORDER=PCI_BUS_ID; default FASTEST_FIRST", "S",
    kGuide};
}  // namespace cuda_rules

namespace {

constexpr std::string_view kSpec = "Level Zero specification, PROG.rst \"Affinity Mask\"";
constexpr std::string_view kParser =
    "intel/compute-runtime shared/source/execution_environment/execution_environment.cpp parseAffinityMask()";
constexpr std::string_view kNumber =
    "intel/compute-runtime shared/source/helpers/string_helpers.h toUint32t()";
constexpr std::string_view kGetDevices =
    "intel/compute-runtime shared/source/dll/get_devices.cpp, commit 1f524e9d1c";
constexpr std::string_view kFactoryTests =
    "intel/compute-runtime opencl/test/unit_test/os_interface/device_factory_tests.cpp";
constexpr std::string_view kDeviceTests =
    "intel/compute-runtime shared/test/unit_test/device/neo_device_tests.cpp";
constexpr std::string_view kLzt = "oneapi-src/level-zero-tests test_affinity.cpp";

constexpr auto kSelects = DriverFate::kSelects;
constexpr auto kUninit = DriverFate::kUninitialized;
constexpr auto kSegv = DriverFate::kSegfault;
constexpr auto kDies = DriverFate::kAbort;

constexpr XpuHazards kSafe{};
constexpr XpuHazards kNothingLeft{kUninit, kSegv, kSegv};
constexpr XpuHazards kNothingInFlat{kSelects, kSelects, kSegv};
constexpr XpuHazards kSegfault{kSegv, kSegv, kSegv};
constexpr XpuHazards kAbort{kDies, kDies, kDies};

constexpr std::string_view kAll = "0 1";
constexpr std::string_view kAllFlat = "0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3";
constexpr std::string_view kTileZeroNote =
    "without hardware Intel's 22.43 driver crashes (SIGSEGV) when several tiles of a card are left and tile "
    "0 is not "
    "among them; not checked on hardware";

// The machine has two cards of four tiles, unless the row has another topology.
constexpr XpuMaskRow kXpuRows[] = {
    // number slug value | COMPOSITE | FLAT | hazards | well formed | evidence | source | note | topology
    {1, "unset", std::nullopt, kAll, kAllFlat, kSafe, true, "S", kSpec},
    {2, "empty", "", kAll, kAllFlat, kSafe, true, "I,X,T", kLzt, "the opposite of CUDA_VISIBLE_DEVICES=''"},
    {3, "default_word", "default", kAll, kAllFlat, kSafe, false, "I,X", kParser, "the driver's own sentinel"},
    {4, "first", "0", "0", "0.0", kSafe, true, "S", kSpec},
    {5, "second", "1", "1", "0.1", kSafe, true, "S", kSpec},
    {6, "two", "0,1", kAll, "0.0 0.1", kSafe, true, "S", kSpec},
    {7, "two_reversed", "1,0", kAll, "0.0 0.1", kSafe, true, "S", kSpec, "a mask never reorders"},
    {8, "repeated", "0,0", "0", "0.0", kSafe, true, "I,X", kParser},
    {9, "blanks_around", " 0 , 1 ", kAll, "0.0 0.1", kSafe, true, "S,X", kSpec, "its examples contain ', '"},
    {9, "blank_after_comma", "0, 1", kAll, "0.0 0.1", kSafe, true, "S,X", kSpec, "its examples contain ', '"},
    {10, "trailing_comma", "0,", "0", "0.0", kSafe, false, "I,X", kParser},
    {11, "leading_comma", ",0", "-", "-", kSegfault, false, "I,X", kParser, "indexes an empty vector"},
    {11, "empty_entry", "0,,1", "-", "-", kSegfault, false, "I,X", kParser, "indexes an empty vector"},
    {11, "comma_only", ",", "-", "-", kSegfault, false, "I,X", kParser, "indexes an empty vector"},
    {12, "minus_one_inside", "0,-1,1", kAll, "0.0 0.1", kSafe, false, "I,X", kParser,
     "the bad entry is skipped; CUDA would end the list there"},
    {13, "out_of_range_inside", "0,92,1", kAll, "0.0 0.1", kSafe, true, "I,X,T", kFactoryTests},
    {14, "minus_one", "-1", "nothing", "nothing", kNothingLeft, false, "I,X", kGetDevices},
    {14, "hundred", "100", "nothing", "nothing", kNothingLeft, true, "I,X", kGetDevices},
    {14, "one_past_the_tiles", "8", "nothing", "nothing", kNothingLeft, true, "I,X", kGetDevices},
    {14, "no_such_tile", "1.9", "nothing", "nothing", kNothingLeft, true, "I,X", kGetDevices},
    {15, "star", "*", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {15, "word", "abc", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {15, "blank_only", " ", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {15, "cuda_name", "GPU-1", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {15, "no_card", ".0", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {15, "word_second", "0,abc", "-", "-", kAbort, false, "I,X", kNumber, "uncaught std::invalid_argument"},
    {16, "too_large", "99999999999999999999999", "-", "-", kAbort, false, "I,X", kNumber,
     "uncaught std::out_of_range"},
    {17, "tail", "1abc", "1", "0.1", kSafe, false, "I,X", kNumber, "the tail is ignored"},
    {17, "sign", "+1", "1", "0.1", kSafe, false, "I,X", kNumber},
    {17, "hexadecimal", "0x1", "1", "0.1", kSafe, false, "I,X", kNumber},
    {17, "range", "0-1", "0", "0.0", kSafe, false, "I,X", kNumber, "the tail is ignored"},
    {17, "semicolon", "0;1", "0", "0.0", kSafe, false, "I,X", kNumber, "the tail is ignored"},
    {18, "octal", "010", "nothing", "nothing", kNothingLeft, false, "I,X", kNumber, "read as 8"},
    {19, "wraps", "4294967297", "1", "0.1", kSafe, false, "I,X", kNumber, "cut to 32 bits"},
    {20, "tile", "0.0", "0.0", "nothing", kNothingInFlat, true, "S,X", kSpec, "a device without sub-devices"},
    {21, "tile_of_each", "0.0,1.0", "0.0 1.0", "nothing", kNothingInFlat, true, "S,I,X", kSpec},
    {22, "two_tiles", "1.1,1.2", "1.{1,2}", "nothing", kNothingInFlat, true, "S", kSpec, kTileZeroNote},
    {23, "two_tiles_of_each", "0.2,1.3,1.0,0.3", "0.{2,3} 1.{0,3}", "nothing", kNothingInFlat, true, "S",
     kSpec, kTileZeroNote},
    {24, "tile_repeated", "0.1,0.1", "0.1", "nothing", kNothingInFlat, true, "I,X", kParser},
    {24, "tile_and_card", "0.0,0", "0", "0.0", kSafe, true, "I,X", kParser, "a union"},
    {25, "no_such_tile_second", "0,1.54", "0", "0.0", kSafe, true, "I,X,T", kFactoryTests},
    {26, "three_parts", "0.0.0", "nothing", "nothing", kNothingLeft, false, "I,X", kParser},
    {26,
     "four_parts",
     "0.0.0.0",
     "-",
     "nothing",
     {kDies, kDies, kSegv},
     false,
     "I,X",
     kParser,
     "an internal check"},
    {27, "first_of_each_flat", "0,4", "0", "0.0 1.0", kSafe, true, "S", kSpec},
    {28, "tiles_across_cards_flat", "1,2,7", "1", "0.1 0.2 1.3", kSafe, true, "S", kSpec},
    {29, "all_by_number", "0,1,2,3,4,5,6,7", kAll, kAllFlat, kSafe, true, "S", kSpec},
    {30,
     "mixed_on_four_cards",
     "0,3,4,1.1,9,15,25",
     "0 1.1 3",
     "0.0 0.3 1.0 2.1 3.3",
     kSafe,
     true,
     "I,T,X",
     kDeviceTests,
     "the test looks at the first four leaves only; COMPOSITE is executed",
     {4, 4}},
};

}  // namespace

std::span<const XpuMaskRow> xpu_mask_table() { return kXpuRows; }

const XpuMaskRow* find_xpu_row(std::string_view value) {
  const auto row =
      std::find_if(std::begin(kXpuRows), std::end(kXpuRows), [&](const auto& r) { return r.value == value; });
  return row == std::end(kXpuRows) ? nullptr : row;
}

namespace xpu_rules {
const MaskRule kEmpty{"'' is the same as unset: every device is visible", "I,X,T", kParser};
const MaskRule kSet{"the mask is a set: its order does not order the devices, repetition counts once", "S,X",
                    kSpec};
const MaskRule kSkips{"an entry that names no device is skipped, the others count", "I,X,T", kParser};
const MaskRule kHierarchy{"N is card N under COMPOSITE, leaf device (tile) N under FLAT and COMBINED", "S,X",
                          "Level Zero specification, PROG.rst \"Device Hierarchy\""};
const MaskRule kTile{"N.M is tile M of card N under COMPOSITE", "S,X", kSpec};
const MaskRule kTileInFlat{"N.M is not valid under FLAT and COMBINED: the driver ignores the entry", "S,I,X",
                           kSpec};
const MaskRule kNothing{
    "a mask that selects nothing: 22.43 fails in zeInit (0x78000001), 26.27 crashes (segmentation fault)",
    "I,X", kGetDevices};
const MaskRule kNumbers{
    "a number is read by std::stoul(text, nullptr, 0) and cut to 32 bits: sign, 0x, octal and any tail pass, "
    "no number at all ends the process",
    "I,X", kNumber};
const MaskRule kEmptyEntry{"an empty entry before the end crashes zeInit (segmentation fault)", "I,X",
                           kParser};
const MaskRule kDots{"more than one dot selects nothing (two) or ends the process (three)", "I,X", kParser};
const MaskRule kDefaultWord{"the word default is the driver's own sentinel for unset", "I,X", kParser};
const MaskRule kOrdinalsOnly{"Level Zero has no names: devices are selected by ordinal only", "S", kSpec};
}  // namespace xpu_rules

}  // namespace proctor
