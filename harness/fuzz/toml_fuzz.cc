// Fuzzes the TOML reader and the readers of the user's TOML files.
#include "harness/base/toml_reader.h"
#include "harness/fuzz/fuzz.h"
#include "harness/plan/exemptions.h"
#include "harness/plan/known_failures.h"
#include "reports/gate/policy.h"

namespace {

using namespace proctor;

template <typename T>
void answered(const Result<T>& result) {
  fuzz::check(result || (result.error().kind == ErrorKind::kUsage && result.error().what.starts_with("f")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::give(data, size,
             {[](const std::string& text) { answered(parse_toml(text, "f")); },
              [](const std::string& text) { answered(parse_known_failures(text, "f")); },
              [](const std::string& text) { answered(parse_exemptions(text, "f")); },
              [](const std::string& text) { answered(parse_gate_policy(text, "f")); }});
  return 0;
}
