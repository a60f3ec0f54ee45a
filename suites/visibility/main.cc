#include <cstring>

#include "suites/main/check.h"
#include "suites/visibility/child.h"
#include "suites/visibility/mask_table.h"

int main(int argc, char** argv) {
  using namespace proctor::visibility;
  if (argc > 1 && std::strcmp(argv[1], kChildOption) == 0) return child_main(argc - 2, argv + 2);
  if (argc > 3 && std::strcmp(argv[1], kMaskTableOption) == 0) {
    return write_mask_table(argv[2], {argv + 3, argv + argc});
  }
  return proctor::suite::run_main(argc, argv);
}
