// Runs a test program under Proctor from a program of your own:
//
//   run_tests PREFIX COMMAND [ARGS...]
//
// PREFIX has the installed Proctor: its guard, its probes and its suites.
#include <csignal>
#include <cstdio>
#include <variant>

#include "harness/runner/run.h"

namespace {

// Prints a line for each case.
class Lines : public proctor::RunDisplay {
 public:
  void on(const proctor::Event& event) override {
    if (const auto* ended = std::get_if<proctor::CaseEnded>(&event))
      std::printf("%s: %s\n", ended->case_id.c_str(), to_string(ended->verdict).c_str());
  }
};

int refuse(const proctor::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc < 3) return refuse(proctor::Error::refused("usage: run_tests PREFIX COMMAND [ARGS...]"));
  const auto installed = proctor::Installation::at(argv[1]);
  if (!installed) return refuse(installed.error());
  proctor::RunRequest request;
  request.selection.command.assign(argv + 2, argv + argc);
  request.limits.timeout = "30s";
  proctor::Machine machine(*installed);
  Lines lines;
  const auto result = proctor::run(request, machine, lines);
  if (!result) return refuse(result.error());
  std::printf("reports in %s\n", result->run_dir.c_str());
  return result->exit_code;
}
