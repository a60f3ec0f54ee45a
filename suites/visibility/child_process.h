// Starting this program again as a child that looks (see child.h), and what its end means. A child that
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

// What each vendor's half of the suite says of its children.
struct ChildRules {
  // Removed from the suite's own environment: what a caller may have set and what would then decide instead
  // of the check.
  std::vector<std::string> owned;
  Variables defaults;
};
const ChildRules& child_rules();

// How a child ended, before anything is made of it.
struct ChildEnd {
  std::optional<nlohmann::json> answer;
  int signal = 0;  // 0: it exited
  int exit_code = 0;
  bool hung = false;
};

// A running child. It owns a scratch directory (Intel's no-hardware mode writes files), which goes with it; a
// child that still runs is killed.
class Child {
 public:
  Child(const std::vector<std::string>& mode, const Variables& variables);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for the answer alone: modes that stay.
  std::optional<nlohmann::json> answer();
  // Closes its input and waits for its end.
  ChildEnd finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

nlohmann::json query_child(const std::vector<std::string>& mode, const Variables& variables = {});
// What a finished child means for the check that asked: its answer, or the end of the check.
nlohmann::json accept(const ChildEnd& end, const Variables& variables);

// A record in an answer; ends the check when it is none.
Enumeration record(const nlohmann::json& answer, const char* key);
// query_child("enumerate") as a record.
Enumeration enumerate(const Variables& variables = {});

}  // namespace proctor::visibility
