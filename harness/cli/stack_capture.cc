// proctor stack capture: the fingerprint of this machine's driver stack.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/cli/stack.h"
#include "harness/journal/exit_code.h"
#include "harness/stack/fingerprint.h"

namespace proctor::cli {
namespace {

struct CaptureRequest {
  std::string root = "/";
  bool json = false;
};

int run(const CaptureRequest& request) {
  std::error_code ec;
  if (!std::filesystem::is_directory(request.root, ec)) {
    return fail_stack(Error::refused("--root " + request.root + " does not exist or is not a directory"));
  }
  const auto facts = capture_stack(request.root, image_digest_of_caller());
  if (request.json) {
    std::cout << to_json(facts) << '\n';
    return kExitGreen;
  }
  for (const auto& fact : facts) {
    std::cout << fmt::format("{:<20} {}  ({})\n", fact.name, fact.value.value_or("unknown: " + fact.reason),
                             fact.source);
  }
  return kExitGreen;
}

}  // namespace

void add_stack_capture(CLI::App& stack, Action& action) {
  CLI::App* command =
      stack.add_subcommand("capture", "Show kernel, driver, firmware and libraries, each with its source");
  const auto request = std::make_shared<CaptureRequest>();
  command->add_option("--root", request->root, "Root of the machine's files (default: /)")->type_name("DIR");
  command->add_flag("--json", request->json,
                    "Print one JSON document; an unknown value is null, with the reason");
  command->callback([request, &action] { action = [request] { return run(*request); }; });
}

}  // namespace proctor::cli
