#include "suites/main/helper.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>

#include "suites/main/check.h"
#include "suites/main/skipped.h"

namespace proctor::suite {
namespace {

using nlohmann::json;

std::vector<std::string> describe(const std::string& name, const std::vector<std::string>& words) {
  std::vector<std::string> all = {kHelperOption, name};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::vector<std::string> environment_of(const Helper::Variables& variables) {
  std::vector<std::string> changes;
  for (const auto& [name, value] : variables) changes.push_back(name + "=" + value);
  return environment_with(changes);
}

std::map<std::string, HelperBody>& helpers() {
  static std::map<std::string, HelperBody> bodies;
  return bodies;
}

bool& this_is_a_helper() {
  static bool is = false;
  return is;
}

}  // namespace

Helper::Helper(const std::string& name, const std::vector<std::string>& words, const Variables& variables)
    : process_(describe(name, words), environment_of(variables)) {}

std::optional<json> Helper::try_answer(std::chrono::milliseconds deadline) {
  const auto line = process_.line(Clock::now() + deadline);
  if (!line) return std::nullopt;
  json document = json::parse(*line, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  return document;
}

json Helper::answer(std::chrono::milliseconds deadline, const std::string& to) {
  const auto document = try_answer(deadline);
  if (!document) {
    const std::string asked = to.empty() ? "" : to + ": ";
    const HelperEnd end = finish(std::chrono::milliseconds(100));
    if (end.hung) fail_because("helper_hang", asked + "the second process did not respond in time");
    if (end.signal != 0) {
      fail_because("helper_crash:" + std::to_string(end.signal),
                   asked + "the second process died of " + strsignal(end.signal));
    }
    fail_because("helper_error", asked + "the second process ended without a result, with code " +
                                     std::to_string(end.exit_code));
  }
  if (document->contains("skip")) skip(document->at("skip"));
  if (document->contains("error"))
    fail_because("helper_error", "second process: " + document->at("error").get<std::string>());
  return *document;
}

HelperEnd Helper::finish(std::chrono::milliseconds deadline) {
  return process_.finish(Clock::now() + deadline);
}

bool add_helper(const std::string& name, HelperBody body) {
  helpers().emplace(name, std::move(body));
  return true;
}

void answer(const json& document) {
  const std::string line = document.dump() + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(kAnswerFd, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(3);  // The process of the check has ended.
    done += static_cast<std::size_t>(written);
  }
}

bool in_helper() { return this_is_a_helper(); }

std::string wait_for_input() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

int run_helper(const std::string& name, const std::vector<std::string>& words) {
  const auto found = helpers().find(name);
  if (found == helpers().end()) {
    std::cerr << "unknown helper '" << name << "'\n";
    return 2;
  }
  this_is_a_helper() = true;
  try {
    found->second(words);
    return 0;
  } catch (const Skipped& skipped) {
    answer({{"skip", skipped.reason()}});
  } catch (const std::exception& error) {
    answer({{"error", error.what()}});
  }
  return 1;
}

}  // namespace proctor::suite
