#include "suites/collectives/memory_space.h"
#include "suites/main/helper.h"

int main(int argc, char** argv) {
  return proctor::suite::run_main_with_helpers(argc, argv, proctor::collectives::needs_of_the_suite(),
                                               proctor::collectives::visible_devices());
}
