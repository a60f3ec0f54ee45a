#include <csignal>

#include "suites/collectives/memory_space.h"
#include "suites/main/helper.h"

int main(int argc, char** argv) {
  // A peer that dies while much is on its way to it must be an answer, not the end of this rank.
  std::signal(SIGPIPE, SIG_IGN);
  return proctor::suite::run_main_with_helpers(argc, argv, proctor::collectives::needs_of_the_suite(),
                                               proctor::collectives::visible_devices());
}
