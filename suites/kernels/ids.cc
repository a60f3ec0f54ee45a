#include "suites/kernels/ids.h"

#include "suites/main/check.h"

namespace proctor::accel {
namespace {

// The words that ids.cl writes for a launch.
std::vector<std::uint32_t> expected_ids(const Launch& launch) {
  std::array<std::uint32_t, 3> size{};
  for (std::size_t axis = 0; axis < 3; ++axis) size[axis] = launch.groups[axis] * launch.group[axis];
  std::vector<std::uint32_t> words;
  for (std::uint32_t z = 0; z < size[2]; ++z) {
    for (std::uint32_t y = 0; y < size[1]; ++y) {
      for (std::uint32_t x = 0; x < size[0]; ++x) {
        const auto& g = launch.group;
        const std::uint32_t local = x % g[0] + g[0] * (y % g[1] + g[1] * (z % g[2]));
        const std::uint32_t group = x / g[0] + launch.groups[0] * (y / g[1] + launch.groups[1] * (z / g[2]));
        words.insert(words.end(),
                     {x + launch.offset[0], y + launch.offset[1], z + launch.offset[2], local, group,
                      g[0] * g[1] * g[2], launch.groups[0] * launch.groups[1] * launch.groups[2],
                      size[0] * size[1] * size[2]});
      }
    }
  }
  return words;
}

}  // namespace

void expect_ids(const Launch& launch) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "ids");
  const auto expected = expected_ids(launch);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(expected.size()));
  suite::step("given a launch of " + std::to_string(expected.size() / 8) + " work-items");
  queue.launch(Kernel(module, "ids"), launch, arguments(out));
  queue.synchronize();
  expect_words("ids (8 words a work-item)", expected, read_as<std::uint32_t>(queue, context, out),
               context.device());
}

}  // namespace proctor::accel
