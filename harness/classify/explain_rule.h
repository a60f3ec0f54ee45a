// Implements `proctor explain RULE` and `proctor explain CLASS`, which print the meaning of a diagnosis.
#pragma once

#include <optional>
#include <string>

#include "harness/base/result.h"

namespace proctor {

// Returns the text for a rule ("xid:79") or for all rules of a class ("device_lost"). Returns none if `id` is neither,
// because it can be the id of a case. An Xid without its own rule ("xid:46") has the text of `xid:other`. An unknown
// name in a known group ("xid:780") is a usage error.
Result<std::optional<std::string>> explain_rule(const std::string& id, bool json);

}  // namespace proctor
