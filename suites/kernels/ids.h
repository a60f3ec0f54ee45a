// Every work-item of a launch says who it thinks it is.
#pragma once

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

void expect_ids(const Launch& launch);

}  // namespace proctor::accel
