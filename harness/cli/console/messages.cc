#include "harness/cli/console/messages.h"

#include <cerrno>
#include <cstdio>
#include <random>

#include "harness/base/ci_service.h"
#include "harness/base/text.h"
#include "harness/base/workflow_commands.h"
#include "harness/journal/exit_code.h"

namespace proctor::cli {

std::string shown(std::string_view text) {
  const std::string clean = without_hidden_controls(clean_text(text));
  return in_github_actions() ? WorkflowCommandGuard().pass(clean) : clean;
}

int fail(const Error& error) {
  std::fprintf(stderr, "proctor: %s\n", shown(error.message()).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", shown(error.hint).c_str());
  const bool mistake = error.kind != ErrorKind::kSystem && error.kind != ErrorKind::kInternal;
  return mistake ? kExitUsage : kExitMachine;
}

void warn_not_recorded(const Error& error) {
  std::fprintf(stderr, "proctor: warning: the run is not recorded: %s\n", shown(error.message()).c_str());
}

int said_all(int code, const std::string& what) {
  const bool is_said = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return is_said ? code : fail(Error::system("write " + what + " to stdout", errno));
}

void tell_wait(const std::string& why) {
  std::fprintf(stderr, "proctor: the cases are listed with devices, and this waits for them: %s\n",
               shown(why).c_str());
}

int fail_exec(const Error& error) {
  const int code = fail(error);
  return error.kind == ErrorKind::kSystem ? code : kExecInternal;
}

std::string shown_json(std::string text) {
  constexpr std::string_view kCommand = "##[";
  if (!in_github_actions()) return text;
  for (auto at = text.find(kCommand); at != text.npos; at = text.find(kCommand, at))
    text.replace(at, 2, "#\\u0023");
  return text;
}

CommandPause::CommandPause() {
  std::random_device random;
  char word[9];
  for (int i = 0; i < 4; ++i) {
    std::snprintf(word, sizeof word, "%08x", static_cast<unsigned>(random()));
    token_ += word;
  }
  std::fprintf(stderr, "::stop-commands::%s\n", token_.c_str());
}

CommandPause::~CommandPause() { std::fprintf(stderr, "\n::%s::\n", token_.c_str()); }

}  // namespace proctor::cli
