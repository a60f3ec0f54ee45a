#include "harness/journal/child_protocol.h"
#include "suites/accel/accel.h"
#include "suites/main/helper.h"

int main(int argc, char** argv) {
  return proctor::suite::run_main_with_helpers(argc, argv,
                                               {.needs = {proctor::child::kExecutionNeed},
                                                .visible = proctor::accel::identify_visible,
                                                .batch = true});
}
