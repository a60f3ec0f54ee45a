// Values of ZE_AFFINITY_MASK and what they select under ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE. Data only: each
// row is one case MaskRow.NAME.
#pragma once

#include <span>

#include "suites/main/check.h"

namespace proctor::visibility {

struct MaskRow {
  const char* name;
  const char* value;    // nullptr: the variable is unset
  const char* selects;  // canonical selection, see mask_model.h
  const char* rule;
  const char* source;
  suite::Severity severity;
  // A fault of the simulator that makes the row fail on two cards with two tiles each.
  const char* fault = "visibility.mask_off_by_one";
};

std::span<const MaskRow> mask_rows();

}  // namespace proctor::visibility
