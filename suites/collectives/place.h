// Where the tensors of a rank live: in host memory, or on the rank's device. One header; host.cc and
// device.cc implement it, chosen at link time, so that a check is the same on all backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/collectives/numbers.h"

namespace proctor::collectives {

class Place {
 public:
  // Ends the check as a skip when there is no device.
  Place();
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // What the host reads from a tensor of the device that was given `bytes`: a collective over host memory
  // takes its input and leaves its result this way ("staged"). On the host: `bytes`.
  Bytes pass(const Bytes& bytes);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// How many devices each rank has.
int devices_of_a_rank();
// What all checks of the suite need (run_main).
std::vector<std::string> needs_of_the_suite();

}  // namespace proctor::collectives
