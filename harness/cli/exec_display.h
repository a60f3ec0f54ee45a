// What `proctor exec` says itself: on stderr, and only what the command cannot say. A command that ends by
// itself with 0 leaves no line of ours; any other end leaves its answers and the place of the reports.
#pragma once

#include <string>

#include "harness/cli/console_output.h"
#include "harness/cli/run_display.h"

namespace proctor::cli {

class ExecDisplay : public RunDisplay {
 public:
  explicit ExecDisplay(std::string run_dir);

  void on(const Event& event) override;
  void tick() override;
  void finish(const RunModel& model, int shell_code, const Result<void>& rendered) override;

 private:
  void say(const std::string& line);
  void name_strays(const AttemptEnded& end);

  ConsoleOutput output_;
  std::string run_dir_;
  bool spoke_ = false;
};

}  // namespace proctor::cli
