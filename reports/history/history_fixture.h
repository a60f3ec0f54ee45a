// Creates runs and histories for the tests of reports/history, and prints the content of a history as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/history/questions.h"

namespace proctor::testing_support {

// A case of a run that made_run() creates.
struct MadeCase {
  std::string id{};
  Outcome outcome = Outcome::kPass;
  bool flaky = false;
};

// Returns run number `number`. It begins one hour after the previous number. Its commit is "c" and the number, on main.
RunResults made_run(int number, const std::vector<MadeCase>& cases);
void set_commit(RunResults& run, const std::string& commit);
void set_branch(RunResults& run, const std::string& branch);
void set_fact(RunResults& run, const std::string& name, const std::string& value);

// Creates a history with these runs, imported in this order.
History history_of(const std::string& path, const std::vector<RunResults>& runs);
Result<Added> add_one(History& history, const RunResults& run);

void add_all(History& into, History& from);

// The complete content as text, without the row numbers, so that two files can be compared.
std::string canonical_text(History& history);
std::string canonical_text(const RunResults& run);

}  // namespace proctor::testing_support
