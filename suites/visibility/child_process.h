// Starts this program again as a child that enumerates (see child.h), and judges how it ended. A child that
// crashes or hangs ends the check, as fail(driver_crash:N) or fail(driver_hang); one that cannot load its
// vendor's library at all ends it as skip(library_missing:...).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suites/visibility/enumeration.h"

namespace proctor::visibility {

// Variables to set (or, without a value, to unset) on top of the suite's own environment, from which the
// variables that decide visibility are removed first.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

// What each vendor's half of the suite says about its children.
struct ChildRules {
  // Removed from the suite's own environment: variables that a caller may have set and that would then decide
  // instead of the check.
  std::vector<std::string> owned;
  Variables defaults;
};
const ChildRules& child_rules();

// How a child ended, before this is judged.
struct ChildEnd {
  std::optional<nlohmann::json> answer;
  int signal = 0;  // 0: it exited
  int exit_code = 0;
  bool hung = false;
};

// A running child. It owns a scratch directory (Intel's no-hardware mode writes files), which is removed with
// it. If the child still runs then, it is killed.
class Child {
 public:
  Child(const std::vector<std::string>& mode, const Variables& variables);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits only for the answer. For modes in which the child stays.
  std::optional<nlohmann::json> answer();
  // Closes its input and waits for its end.
  ChildEnd finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

nlohmann::json query_child(const std::vector<std::string>& mode, const Variables& variables = {});
// Judges a finished child for the check that started it: returns its answer, or ends the check.
nlohmann::json accept(const ChildEnd& end, const Variables& variables);

// Reads a record from an answer. Ends the check if it is no record.
Enumeration record(const nlohmann::json& answer, const char* key);
// query_child("enumerate") as a record.
Enumeration enumerate(const Variables& variables = {});

}  // namespace proctor::visibility
