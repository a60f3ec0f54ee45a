#include "suites/collectives/memory_space.h"
#include "suites/main/helper.h"

int main(int argc, char** argv) {
  return proctor::suite::run_main_with_helpers(argc, argv,
                                               {.needs = proctor::collectives::needs_of_the_suite(),
                                                .visible = proctor::collectives::visible_devices()});
}
