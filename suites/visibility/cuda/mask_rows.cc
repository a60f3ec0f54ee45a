// Sources:
//   GUIDE     NVIDIA CUDA Programming Guide, "CUDA Environment Variables": the vendor's words
//   PYTORCH   torch/cuda/__init__.py _parse_visible_devices, test/test_cuda_nvml_based_avail.py: a model
//             of the driver where the guide is silent, tested as a model; not yet seen on hardware
//   HIP       ROCm/hip-tests, which also run on NVIDIA
//
// Rules that no document of NVIDIA states (severity warn and info) hold on the simulator. On hardware the
// answer is recorded, whatever it is.
#include "suites/visibility/cuda/mask_rows.h"

#include "suites/visibility/cuda/guide.h"

namespace proctor::visibility {
namespace {

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

}  // namespace

std::span<const CudaMaskRow> cuda_mask_rows() { return kRows; }

}  // namespace proctor::visibility
