// A second process of the suite's own program, with a deadline. Checks use it for actions that must not affect the
// process of the check. The process is started, not forked, because no driver survives a fork.
//
// In the second process. Example:
//
//   PROCTOR_HELPER(hold) {
//     const std::vector<char> memory(4096);
//     answer({{"held", memory.size()}});
//     wait_for_input();
//   }
//
// In the check. Example:
//
//   Helper holder("hold");
//   const auto held = holder.answer().at("held");
//   holder.kill();
//
// The second process writes results as lines of JSON to descriptor 3, and reads orders as lines from stdin.
// second_process.h has the command that starts the program.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suites/main/check.h"
#include "suites/main/second_process.h"

namespace proctor::suite {

inline constexpr const char* kHelperOption = "--helper";
inline constexpr std::chrono::seconds kHelperDeadline{20};

using HelperEnd = SecondProcessEnd;

// A helper of this suite in a second process, seen from the check. PROCTOR_HELPER defines helpers.
class Helper {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit Helper(const std::string& name, const std::vector<std::string>& words = {},
                  const Variables& variables = {});

  // Reads the next result; nullopt: the helper ended, or the deadline passed.
  std::optional<nlohmann::json> try_answer(std::chrono::milliseconds deadline = kHelperDeadline);
  // Reads the next result. If there is none, the check ends as skip(REASON) if the helper skipped, else as
  // fail(helper_crash:N), fail(helper_hang) or fail(helper_error). `to` names the request in the message.
  nlohmann::json answer(std::chrono::milliseconds deadline = kHelperDeadline, const std::string& to = "");
  void order(const std::string& line) { process_.order(line); }
  void kill() { process_.kill(); }
  HelperEnd finish(std::chrono::milliseconds deadline = kHelperDeadline);

 private:
  SecondProcess process_;
};

// ---- inside a helper ----

using HelperBody = std::function<void(const std::vector<std::string>& words)>;
bool add_helper(const std::string& name, HelperBody body);
void answer(const nlohmann::json& document);
std::string wait_for_input();  // reads the next order; "": there are no more
bool in_helper();              // true if this process is a helper
// Runs a helper and returns its exit code.
int run_helper(const std::string& name, const std::vector<std::string>& words);

#define PROCTOR_HELPER(name)                                        \
  static void helper_##name(const std::vector<std::string>& words); \
  [[maybe_unused]] static const bool helper_##name##_added =        \
      ::proctor::suite::add_helper(#name, helper_##name);           \
  static void helper_##name([[maybe_unused]] const std::vector<std::string>& words)

// The main() of a suite with helpers. Runs the helper that the command line names, or else run_main().
int run_main_with_helpers(int argc, char** argv, const SuiteTraits& traits = {});

}  // namespace proctor::suite
