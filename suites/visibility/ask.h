// Asks a child what it sees (see child.h). A child that crashes or hangs ends the check, as
// fail(driver_crash:N) or fail(driver_hang); one that cannot load Level Zero at all ends it as
// skip(library_missing:...).
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
// variables that decide visibility are removed first. The hierarchy is COMPOSITE unless it is named here.
using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

inline constexpr const char* kMask = "ZE_AFFINITY_MASK";
inline constexpr const char* kHierarchy = "ZE_FLAT_DEVICE_HIERARCHY";
inline constexpr const char* kPciOrder = "ZE_ENABLE_PCI_ID_DEVICE_ORDER";

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

nlohmann::json ask(const std::vector<std::string>& mode, const Variables& variables = {});
// What a finished child means for the check that asked: its answer, or the end of the check.
nlohmann::json accept(const ChildEnd& end, const Variables& variables);

// ask("enumerate") as a record.
Enumeration enumerate(const Variables& variables = {});
// A record in an answer; ends the check when it is none.
Enumeration record(const nlohmann::json& answer, const char* key);

// All devices, no mask. Ends the check as skip(no_device) when there is none.
Enumeration control();

// What can tell devices apart on this machine, by measurement.
IdentityKind identity_kind(const Enumeration& control);

}  // namespace proctor::visibility
