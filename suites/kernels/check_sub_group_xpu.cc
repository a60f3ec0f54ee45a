// Sub-groups of the size that a kernel requires.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

}  // namespace

PROCTOR_CHECK(SubGroup, SizeIsOneThatTheDeviceNames, "K37",
              "Level Zero specification, ze_device_compute_properties_t", kGate,
              {"kernel.sub_group_size_wrong"}) {
  const auto context = leased();
  const auto& sizes = context.device().properties().sub_group_sizes;
  Queue queue(context);
  const Module module = Module::load(context, "subgroup_sizes");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(128));
  int tried = 0;
  for (const std::uint32_t size : {8u, 16u, 32u}) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) continue;
    ++tried;
    step("given a kernel that requires sub-groups of " + std::to_string(size));
    queue.launch(Kernel(module, "sub_group_" + std::to_string(size)), groups_of(2, 64), arguments(out));
    queue.synchronize();
    expect_words("size of the sub-group", std::vector<std::uint32_t>(128, size),
                 read_as<std::uint32_t>(queue, context, out), context.device());
  }
  need(tried != 0, "needs:sub_group_size=8|16|32");
}

}  // namespace proctor::accel
