// Programs that use a driver with a C library of its own are started through that library's dynamic loader.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// Whether a dynamic loader can start this file, that is, whether it is an ELF program that asks for one. A
// script cannot be started so: the kernel starts its interpreter and knows only the system's loader.
bool asks_for_loader(const std::string& file);

// Puts `loader_words` before each program of `plan` on `backend` that asks for a loader, and tells the
// program how to start itself again. Programs are looked up in `path`, a PATH value.
Result<void> start_through(const std::vector<std::string>& loader_words, Backend backend,
                           const std::string& path, Plan& plan);

}  // namespace proctor
