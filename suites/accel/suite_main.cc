#include "harness/core/child_protocol.h"
#include "suites/accel/accel.h"
#include "suites/main/helper.h"

int main(int argc, char** argv) {
  return proctor::suite::run_main_with_helpers(argc, argv, {proctor::child::kExecutionNeed},
                                               proctor::accel::identify_visible);
}
