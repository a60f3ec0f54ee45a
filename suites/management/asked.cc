#include "suites/management/asked.h"

#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

using nlohmann::json;

json answer_of(const Device& card, const std::string& function) {
  const auto query = std::ranges::find(management_queries(), function, &Query::function);
  try {
    return query->ask(card);
  } catch (const suite::Skipped& skipped) {
    return {{"unsupported", skipped.reason()}};
  } catch (const std::exception& error) {
    return {{"refused", error.what()}};
  }
}

// Reads names of functions from stdin, one a line, and writes one result for each.
PROCTOR_HELPER(answer_queries) {
  const Device card = leased_device();
  answer_of(card,
            // The first query also starts the interface. It has a time limit of its own.
            management_queries().front().function);
  suite::answer({{"ready", true}});
  for (auto function = suite::wait_for_input(); !function.empty(); function = suite::wait_for_input())
    suite::answer(answer_of(card, function));
}

}  // namespace

Asker::Asker() : helper_("answer_queries") { helper_.answer(); }

json Asker::try_ask(const std::string& function) {
  helper_.order(function);
  json answer = helper_.answer(kQueryLimit, function);
  if (answer.contains("refused"))
    suite::expect_true(false, "the query returns a value, got " + answer.at("refused").get<std::string>());
  return answer.contains("unsupported") || answer.contains("refused") ? json() : answer;
}

json Asker::ask(const std::string& function) {
  json answer = try_ask(function);
  if (answer.is_null()) suite::skip("unsupported:" + function);
  return answer;
}

}  // namespace proctor::accel
