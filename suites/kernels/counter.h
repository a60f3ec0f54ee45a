// A counter in device memory, for checks of order.
#pragma once

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

// A word of device memory, and a kernel that adds one to it.
struct Counter {
  explicit Counter(const Context& its_context)
      : context(its_context),
        queue(context),
        module(Module::load(context, "basic")),
        kernel(module, "increment"),
        words(device_copy(queue, context, std::vector<std::uint32_t>(64))) {}

  void add_one(Queue& to, const Sync& sync = {}) {
    to.launch(kernel, groups_of(1, 64), arguments(words, 64u), sync);
  }
  std::uint32_t value() { return read_as<std::uint32_t>(queue, context, words)[63]; }

  Context context;
  Queue queue;
  Module module;
  Kernel kernel;
  Buffer words;
};

}  // namespace proctor::accel
