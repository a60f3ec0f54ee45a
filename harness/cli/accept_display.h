// The console output of `proctor accept`: failures while the run lasts, and at the end the verdict on each device.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/console/console_display.h"
#include "reports/accept/accept_report.h"

namespace proctor::cli {

class AcceptDisplay : public ConsoleDisplay {
 public:
  void start(const RunStart& run) override;
  void finish(const RunFinish& finish) override;

 protected:
  ConsoleOptions options_of(const RunStart& run) const override;
  std::vector<std::string> notes_of(const RunStart& run) const override;

 private:
  void print(const std::string& text);
  void print_headline(const AcceptReport& report);

  std::string colour_{};
};

}  // namespace proctor::cli
