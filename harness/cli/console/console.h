// What a person sees of a run: a header, one line per case (on a terminal: one line per bad case, and a
// status line below), and at the end the four answers for each red case. It only listens to the events of the
// run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/cli/console/console_output.h"
#include "harness/cli/console/live_status.h"
#include "harness/cli/console/run_display.h"
#include "harness/core/clock.h"
#include "harness/core/events.h"

namespace proctor {
struct Summary;
}  // namespace proctor

namespace proctor::cli {

class Console : public RunDisplay {
 public:
  // `notes` follow the header, one line each: how kinds were recognised, what could not be found.
  // `quiet_status`: no status line, the terminal belongs to the case (--no-capture, --debugger).
  Console(ConsoleOutput& output, std::string run_dir, std::vector<std::string> notes, bool quiet_status);

  void on(const Event& event) override;
  // Redraws the status line.
  void tick() override;
  // Prints the red cases with their answers, the summary line, the exit code in words, and where the reports
  // are.
  void finish(const RunModel& model, int shell_code, const Result<void>& rendered) override;

 private:
  void show(const RunPlanned& planned);
  void show(const CaseEnded& ended);
  void print(const std::string& line);
  void clear_status();
  std::string paint(const char* code, const std::string& text) const;
  std::string painted(const Verdict& verdict, const std::string& text) const;
  LiveState live() const;

  struct Planned {
    std::int64_t timeout_ms = 0;
    std::int64_t spent_ms = 0;
    std::string kind = {};
  };

  ConsoleOutput& output_;
  std::string run_dir_;
  std::vector<std::string> notes_;
  bool status_ = false;        // a status line is wanted
  bool status_shown_ = false;  // and there is one below
  Clock::time_point started_ = Clock::now();
  std::map<std::string, Planned> planned_;
  std::vector<AttemptStarted> running_;
  LiveState counts_;
};

// "42 planned: 40 pass, 1 fail, 1 skip".
std::string summary_line(const Summary& summary);

// What an exit code of `run` means, in a few words.
std::string exit_code_meaning(int shell_code);

}  // namespace proctor::cli
