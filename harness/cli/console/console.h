// Console prints a run for people. It prints a header and one line per case. On a terminal, it prints only failed cases
// and a status line below them. At the end it prints a block per cause, a line per failed case, the commands that run
// them again, and the verdict. Console only receives the events of the run and reads the logs.
#pragma once

#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/cli/console/console_output.h"
#include "harness/journal/events.h"
#include "harness/request/run_request.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
struct ResolvedCase;
struct CauseGroup;
struct LastLines;
}  // namespace proctor

namespace proctor::cli {

struct FailedLine;

enum class ShowOutput { kFailed, kAll, kLive, kNone };

struct ConsoleOptions {
  ShowOutput output = ShowOutput::kFailed;  // failed cases at the end, each case when it ends, or live
  bool verbose = false;                     // all warnings about the run, and every failed case in full
  bool quiet = false;                       // only failures and the end
  int durations = 0;                        // number of the slowest cases at the end
  std::string colour = "auto";              // auto | always | never
  // As in CI: without a terminal, passed cases have no line, and the progress is printed every 30 seconds.
  bool only_failed = false;
  bool header = true;                       // false: the caller prints the header
  bool ending = true;                       // false: the caller prints the end
  bool page = true;                         // false: `proctor ctest report` writes the page
  std::map<std::string, int> retries = {};  // retries by case, without cases that have none
};

// Returns the console options of a request.
ConsoleOptions console_options(const ConsoleRequest& request);

// Returns how a case's signals are confined, from the journal's value: "signals held by Landlock"; "" if they are not.
std::string signals_text(const std::string& signals);

class Console : public EventSink {
 public:
  // `notes` are lines below the header: the detected kind of each suite, and anything that was not found.
  // `quiet_status` turns the status line off, because the terminal belongs to the case (--no-capture, --debugger).
  Console(ConsoleOutput& output, const ConsoleOptions& options, std::string run_dir,
          std::vector<std::string> notes, bool quiet_status);

  void on(const Event& event) override;
  bool wants_output() const { return options_.output == ShowOutput::kLive; }
  void output(const std::string& case_id, bool is_stderr, std::string_view bytes);
  // Redraws the status line.
  void tick();
  // Prints the causes, each failed case, the summary, the path of the page, and the exit code in words.
  void finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered);

 private:
  void show(const RunPlanned& planned);
  void show_containment(const ContainmentInfo& containment);
  void show(const CaseEnded& ended);
  void show_retried(const AttemptStarted& next);
  std::string count_retry(const AttemptStarted& retry);
  LastLines output_of(const std::string& log, std::size_t lines, std::size_t bytes) const;
  void show_output(const std::string& case_id, const LastLines& last);
  void show_all_output(const std::string& case_id);
  void show_live(const std::string& case_id, std::string line);
  void show_remaining_lines(const std::string& case_id);
  void report_not_shown();
  void show_skipped();
  void show_causes(const std::vector<CauseGroup>& groups);
  void show_block(const CauseGroup& group);
  void show_message(const ResolvedCase& test);
  void show_output_of_failure(const ResolvedCase& test);
  void show_durations(const ResolvedRun& run);
  void show_failed(const std::vector<CauseGroup>& groups);
  void show(const FailedLine& line);
  void report_running();
  void report_progress();
  std::string from_here(const std::string& file) const;
  void print(const std::string& line);
  void clear_status();
  std::string paint(const char* code, const std::string& text) const;
  std::string painted(const Verdict& verdict, const std::string& text) const;
  LiveState live() const;

  struct FailedAttempt {
    AttemptStarted start;
    Verdict verdict;
    Marks marks;
    std::int64_t duration_ms = 0;
  };
  struct Planned {
    std::int64_t timeout_ms = 0;
    std::int64_t spent_ms = 0;
    std::string kind = {};
    std::string suite = {};                     // "memory.xpu"
    std::vector<AttemptStarted> attempts = {};  // ended attempts whose output will be printed
    std::string left_behind = {};               // processes that the last attempt left behind
    int retried = 0;                            // retries in the repeat `of_repeat`
    int of_repeat = 1;
    std::string failed_on = {};  // devices of the last failed attempt
    std::string passed_on = {};  // devices of the last attempt that did not fail
  };
  // Cases of one suite that were skipped for one reason and never started.
  struct Skipped {
    int count = 0;
    std::string first = {};
  };

  ConsoleOutput& output_;
  ConsoleOptions options_;
  std::string run_dir_;
  std::string run_dir_from_here_;
  std::vector<std::string> notes_;
  bool status_ = false;        // true if there should be a status line
  bool status_shown_ = false;  // true if a status line is on the screen
  Clock::time_point started_ = Clock::now();
  std::map<std::string, Planned> planned_;
  std::list<AttemptStarted> running_;            // in the order of their start
  std::map<std::string, FailedAttempt> failed_;  // last failed attempt of each case that has not ended
  LiveState counts_;
  bool each_device_ = false;
  std::map<std::pair<std::string, std::string>, Skipped> skipped_;
  std::int64_t reported_running_ms_ = 0;
  std::int64_t reported_progress_ms_ = 0;
  // bytes that are already printed, by log; several cases may share a log
  std::map<std::string, std::uint64_t> shown_of_log_;
  std::map<std::pair<std::string, bool>, std::string> open_lines_;  // incomplete lines by case and stream
  std::size_t lines_not_shown_ = 0;  // lines that were dropped because the reader was too slow
};

}  // namespace proctor::cli
