// Starts this program again as a child that enumerates (child.h), and judges its end. A child that crashes or
// hangs ends the check as fail(driver_crash:N) or fail(driver_hang). A child that cannot load its vendor's library
// ends the check as skip(library_missing:...).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// Changes to the environment of the suite: variables to set, or, without a value, to unset. The variables that
// affect visibility are removed before.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

// The part of the environment of children that depends on the vendor.
struct ChildRules {
  // Variables that are removed from the environment of the suite. A caller may have set them, and they would
  // override the mask of the check.
  std::vector<std::string> owned;
  Variables defaults;
};
const ChildRules& child_rules();

// The end of a child before it is judged.
struct ChildEnd {
  std::optional<nlohmann::json> answer;
  int signal = 0;  // 0: the child exited by itself
  int exit_code = 0;
  bool hung = false;
};

// A running child. It owns a scratch directory, because Intel's no-hardware mode writes files. The destructor
// removes the directory, and kills the child if it still runs.
class Child {
 public:
  Child(const std::vector<std::string>& mode, const Variables& variables);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits only for the result. For modes in which the child continues to run.
  std::optional<nlohmann::json> answer();
  // Closes the input of the child and waits for its end.
  ChildEnd finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

nlohmann::json query_child(const std::vector<std::string>& mode, const Variables& variables = {});
// Judges a finished child for the check that started it. Returns its result, or ends the check.
nlohmann::json accept(const ChildEnd& end, const Variables& variables);

// Reads a record from a result. Ends the check if the result does not contain a record.
Enumeration record(const nlohmann::json& answer, const char* key);
// The record of query_child("enumerate").
Enumeration enumerate(const Variables& variables = {});

}  // namespace proctor::visibility
