#include <algorithm>

#include "harness/devices/masks/mask_table.h"

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

}  // namespace proctor
