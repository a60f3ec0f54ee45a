// The expected ids of all work-items of a launch, for checks of launches.
#pragma once

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

void expect_ids(const Launch& launch);

}  // namespace proctor::accel
