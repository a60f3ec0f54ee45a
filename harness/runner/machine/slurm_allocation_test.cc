#include "harness/runner/machine/slurm_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::HasSubstr;

// The variables of Slurm 22.05.8 in `srun --gres=gpu:2` of a batch job with the devices 2 and 3.
Environment step(const std::string& mask) {
  return {{"SLURM_JOB_ID", "7"},          {"SLURM_STEP_ID", "0"},       {"SLURM_JOB_GPUS", "2,3"},
          {"SLURM_STEP_GPUS", "2,3"},     {"SLURM_GPUS_ON_NODE", "2"},  {"CUDA_VISIBLE_DEVICES", mask},
          {"ROCR_VISIBLE_DEVICES", mask}, {"GPU_DEVICE_ORDINAL", mask}, {"ZE_AFFINITY_MASK", mask}};
}

// Adds `visible` devices of a vendor, of which the masks allow `left`.
void add_vendor(FoundDevices& devices, Backend backend, int visible, int left) {
  WatchedDevices watched{.backend = backend, .ids = {}, .env = {}};
  for (int i = 0; i < visible; ++i)
    watched.ids.push_back(std::string(to_string(backend)) + ":" + std::to_string(i));
  for (int i = 0; i < left; ++i) {
    PoolDevice entry;
    entry.device.id = watched.ids.at(static_cast<std::size_t>(i));
    entry.device.backend = to_string(backend);
    devices.pool.push_back(entry);
  }
  devices.watched.push_back(std::move(watched));
}

FoundDevices cuda(int visible, int left) {
  FoundDevices devices;
  add_vendor(devices, Backend::kCuda, visible, left);
  return devices;
}

std::string why(const FoundDevices& devices, const Environment& caller) {
  const auto checked = check_slurm_allocation(devices, caller);
  if (checked) return "";
  EXPECT_EQ(checked.error().kind, ErrorKind::kUsage);
  return checked.error().what;
}

TEST(SlurmAllocation, AcceptsMaskWithinAllocation) {
  EXPECT_EQ(why(cuda(4, 2), step("2,3")), "");
  EXPECT_EQ(why(cuda(4, 1), step("3")), "") << "less of it";
}

TEST(SlurmAllocation, AcceptsDevicesRenumberedByCgroup) { EXPECT_EQ(why(cuda(2, 2), step("0,1")), ""); }

TEST(SlurmAllocation, RejectsDeviceOfAnotherJob) {
  const std::string text = why(cuda(4, 2), step("0,1"));
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES=0,1 names device 0"));
  EXPECT_THAT(text, HasSubstr("SLURM_STEP_GPUS=2,3"));
  auto batch = step("2");
  batch.erase("SLURM_STEP_ID");
  batch["SLURM_JOB_GPUS"] = "1,3";
  EXPECT_THAT(why(cuda(4, 1), batch), HasSubstr("SLURM_JOB_GPUS=1,3"));
}

TEST(SlurmAllocation, RejectsDevicesBeyondAllocation) {
  auto caller = step("");
  caller.erase("CUDA_VISIBLE_DEVICES");
  const std::string text = why(cuda(4, 4), caller);
  EXPECT_THAT(text, HasSubstr("SLURM_GPUS_ON_NODE=2 on this node, but no mask leaves 4 devices"));
  EXPECT_THAT(text, HasSubstr("cuda:0, cuda:1, cuda:2, cuda:3"));
}

TEST(SlurmAllocation, RejectsOneOrdinalForBothVendors) {
  FoundDevices devices = cuda(1, 1);
  add_vendor(devices, Backend::kXpu, 1, 1);
  auto caller = step("0");
  caller["SLURM_GPUS_ON_NODE"] = "1";
  caller["SLURM_STEP_GPUS"] = "0";
  EXPECT_TRUE(slurm_masks_both_vendors(caller));
  EXPECT_THAT(why(devices, caller),
              HasSubstr("CUDA_VISIBLE_DEVICES=0 and ZE_AFFINITY_MASK=0 leaves 2 devices"));
  caller["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_FALSE(slurm_masks_both_vendors(caller));
}

TEST(SlurmAllocation, StepWithoutGpusHasNoDevices) {
  const Environment none = {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "1"}, {"SLURM_JOB_GPUS", "2,3"}};
  EXPECT_THAT(why(cuda(4, 4), none), HasSubstr("SLURM_JOB_GPUS=2,3, but SLURM_STEP_GPUS is not set"));
  EXPECT_EQ(why(FoundDevices{}, none), "") << "nobody needs one";
}

TEST(SlurmAllocation, IgnoresJobsWithoutManagedDevices) {
  EXPECT_EQ(why(cuda(4, 4), {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}}), "");
  auto outside = step("0");
  outside.erase("SLURM_JOB_ID");
  EXPECT_EQ(why(cuda(4, 4), outside), "");
}

TEST(SlurmAllocation, AcceptsUuidMasks) {
  EXPECT_EQ(why(cuda(4, 1), step("GPU-8932f937")), "");
  EXPECT_EQ(why(cuda(4, 1), step("MIG-1")), "");
}

}  // namespace
}  // namespace proctor
