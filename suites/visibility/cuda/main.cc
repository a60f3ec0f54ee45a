// The main() of the visibility suite for CUDA. It runs the checks, or a child (child.h).
#include <cstring>

#include "suites/main/check.h"
#include "suites/visibility/child.h"

int main(int argc, char** argv) {
  using namespace proctor::visibility;
  if (argc > 1 && std::strcmp(argv[1], kChildOption) == 0) return child_main(argc - 2, argv + 2);
  return proctor::suite::run_main(argc, argv);
}
