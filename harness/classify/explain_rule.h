// `proctor explain RULE` and `proctor explain CLASS`: what a diagnosis means (harness/classify/).
#pragma once

#include <optional>
#include <string>

#include "harness/base/result.h"

namespace proctor {

// The text for a rule ("xid:79") or for all rules of a class ("device_lost"); none if `id` is neither; it may
// be a case. An Xid without a rule of its own ("xid:46") has the text of `xid:other`. A group of rules that exists
// with a name that does not ("xid:780") is a usage error.
Result<std::optional<std::string>> explain_rule(const std::string& id, bool json);

}  // namespace proctor
