// Runs for the tests of the history, and all that a file answers as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/history/questions.h"

namespace proctor::testing_support {

struct MadeCase {
  std::string id{};
  Outcome outcome = Outcome::kPass;
  bool flaky = false;
};

// The run number `number`: an hour after the one before it, at the commit "c1" for number 1, and so on, on main.
RunResults made_run(int number, const std::vector<MadeCase>& cases);
void set_commit(RunResults& run, const std::string& commit);
void set_branch(RunResults& run, const std::string& branch);
void set_fact(RunResults& run, const std::string& name, const std::string& value);

// A history with these runs, imported in this order.
History history_of(const std::string& path, const std::vector<RunResults>& runs);
Result<Added> add_one(History& history, const RunResults& run);

void add_all(History& into, History& from);

// The complete content, without the numbers of rows.
std::string canonical_text(History& history);
std::string canonical_text(const RunResults& run);

}  // namespace proctor::testing_support
