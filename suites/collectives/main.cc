#include <csignal>

#include "suites/collectives/place.h"
#include "suites/main/check.h"

int main(int argc, char** argv) {
  // A peer that dies while much is on its way to it must be an answer, not the end of this rank.
  std::signal(SIGPIPE, SIG_IGN);
  return proctor::suite::run_main(argc, argv, proctor::collectives::needs_of_the_suite());
}
