// The suite's own program in a second process: what a check does there cannot hurt the process of the check,
// and a deadline ends it. Exec'd, never forked, because no driver survives a fork.
//
//   PROCTOR_HELPER(hold) {                     // in the second process
//     Buffer memory(leased(), ...);
//     answer({{"held", memory.bytes()}});
//     wait_for_input();
//   }
//   Helper holder("hold");                     // in the check
//   const auto held = holder.answer();
//   holder.kill();
//
// Answers are lines of JSON on descriptor 3, orders are lines on the standard input. The program is
// started as self.h says.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace proctor::suite {

inline constexpr const char* kHelperOption = "--helper";
inline constexpr std::chrono::seconds kHelperDeadline{20};

// How a helper ended. A helper that hit its deadline was killed.
struct HelperEnd {
  int signal = 0;  // 0: it exited
  int exit_code = 0;
  bool hung = false;
};

class Helper {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit Helper(const std::string& name, const std::vector<std::string>& words = {},
                  const Variables& variables = {});
  ~Helper();  // kills it if it still runs
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // The next answer; nothing when the helper ended or the deadline came first.
  std::optional<nlohmann::json> try_answer(std::chrono::milliseconds deadline = kHelperDeadline);
  // The same, and the end of the check without one: skip(REASON) when the helper skipped,
  // fail(helper_crash:N), fail(helper_hang), fail(helper_error).
  nlohmann::json answer();
  void order(const std::string& line);
  void kill();
  HelperEnd finish(std::chrono::milliseconds deadline = kHelperDeadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- inside a helper ----

using HelperBody = std::function<void(const std::vector<std::string>& words)>;
bool add_helper(const std::string& name, HelperBody body);
void answer(const nlohmann::json& document);
std::string wait_for_input();  // a line of orders; "" at its end

#define PROCTOR_HELPER(name)                                        \
  static void helper_##name(const std::vector<std::string>& words); \
  [[maybe_unused]] static const bool helper_##name##_added =        \
      ::proctor::suite::add_helper(#name, helper_##name);           \
  static void helper_##name([[maybe_unused]] const std::vector<std::string>& words)

// main() of a suite with helpers: a helper when it is asked for one, else run_main().
int run_main_with_helpers(int argc, char** argv, const std::vector<std::string>& needs = {});

}  // namespace proctor::suite
