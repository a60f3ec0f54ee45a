// The suite's own program in a second process. What a check does there cannot hurt the process of the check,
// and a deadline ends it. The process is started anew and never forked, because no driver survives a fork.
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
// Answers are lines of JSON on descriptor 3, orders are lines on the standard input. self.h
// says how the program is started.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "suites/main/lease_check.h"
#include "suites/main/second_process.h"

namespace proctor::suite {

inline constexpr const char* kHelperOption = "--helper";
inline constexpr std::chrono::seconds kHelperDeadline{20};

using HelperEnd = SecondProcessEnd;

class Helper {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit Helper(const std::string& name, const std::vector<std::string>& words = {},
                  const Variables& variables = {});

  // The next answer, or nothing when the helper ended first or the deadline came.
  std::optional<nlohmann::json> try_answer(std::chrono::milliseconds deadline = kHelperDeadline);
  // The next answer. If there is none, the check ends: as skip(REASON) when the helper skipped, else as
  // fail(helper_crash:N), fail(helper_hang) or fail(helper_error).
  nlohmann::json answer();
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
std::string wait_for_input();  // the next order, or "" when there are no more
bool in_helper();              // whether this process is a second one
// The whole life of one; its exit code.
int run_helper(const std::string& name, const std::vector<std::string>& words);

#define PROCTOR_HELPER(name)                                        \
  static void helper_##name(const std::vector<std::string>& words); \
  [[maybe_unused]] static const bool helper_##name##_added =        \
      ::proctor::suite::add_helper(#name, helper_##name);           \
  static void helper_##name([[maybe_unused]] const std::vector<std::string>& words)

// The main() of a suite with helpers. It runs a helper when the command line names one, else run_main().
int run_main_with_helpers(int argc, char** argv, const std::vector<std::string>& needs = {},
                          const VisibleDevices& visible = nullptr);

}  // namespace proctor::suite
