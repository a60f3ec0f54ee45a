// The truth table of CUDA_VISIBLE_DEVICES as data; each row is a case of the suite.
#pragma once

#include <span>

#include "suites/main/check.h"

namespace proctor::visibility {

struct CudaMaskRow {
  const char* name;     // number in the table, and what is special about it
  const char* value;    // in the words of mask_values.h; null: not set
  const char* selects;  // devices of the pool, "1 0"; "all"; "none"; "once": whatever it is, none of them
                        // twice
  const char* rule;
  const char* source;
  suite::Severity severity;
  const char* fault;
  // A driver that reads the value differently might show devices outside of the pool. So the row runs only if
  // the pool is the whole machine.
  bool whole_machine_only = false;
};

std::span<const CudaMaskRow> cuda_mask_rows();

}  // namespace proctor::visibility
