// Every work-item of a launch writes the ids that it sees.
#pragma once

#include "suites/accel/check_fixture.h"

namespace proctor::accel {

void expect_ids(const Launch& launch);

}  // namespace proctor::accel
