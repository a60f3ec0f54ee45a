// What PTX says of atomic additions of floats: those in shared memory keep denormal numbers, those in global memory need not.
#include "suites/kernels/denormal_sums.h"
#include "suites/main/check.h"

namespace proctor::accel {

PROCTOR_CHECK(Atomic, DenormalSumsInAGroupAreKept, "K34",
              "PTX ISA, atom: atom.add.f32 on shared memory supports subnormal inputs and results",
              suite::kGate, {"kernel.atomic_ftz"}) {
  const auto context = leased();
  expect_denormal_sums<float>(context, "atomics_f32_group", "add_in_group");
}

}  // namespace proctor::accel
