// What a person sees of a run: a header, one line per case (on a terminal: one line per bad case, and a
// status line below), and at the end a block per cause, a line per failed case, how to run them again, and the verdict. It only listens to the events of the run, and reads the logs.
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
  ShowOutput output = ShowOutput::kFailed;  // of the bad ones at the end, of each as it ends, as it comes
  bool verbose = false;                     // every caveat, and every red case in full
  bool quiet = false;                       // only what is bad, and the end
  int durations = 0;                        // the slowest cases, at the end
  std::string colour = "auto";              // auto | always | never
  // As in CI: where no terminal is, no line for a case that passes, and the progress twice a minute.
  bool only_failed = false;
  bool header = true;                       // false: the caller says what the run is
  bool ending = true;                       // false: the caller says how it ended
  bool page = true;                         // false: `proctor ctest report` makes it
  std::map<std::string, int> retries = {};  // by case, where it has some
};

// Which of them a request asks for.
ConsoleOptions console_options(const ConsoleRequest& request);

// What keeps a case's signals in the case, as the journal has it: "signals held by Landlock"; "" when nothing does.
std::string signals_text(const std::string& signals);

class Console : public EventSink {
 public:
  // `notes` follow the header, one line each: how kinds were recognised, what could not be found.
  // `quiet_status`: no status line, the terminal belongs to the case (--no-capture, --debugger).
  Console(ConsoleOutput& output, const ConsoleOptions& options, std::string run_dir,
          std::vector<std::string> notes, bool quiet_status);

  void on(const Event& event) override;
  bool wants_output() const { return options_.output == ShowOutput::kLive; }
  void output(const std::string& case_id, bool is_stderr, std::string_view bytes);
  // Redraws the status line.
  void tick();
  // Prints the causes, each failed case, the summary line, where the page is, and the exit code in words.
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
    std::vector<AttemptStarted> attempts = {};  // that have ended, where their output is shown
    std::string left_behind = {};               // by its last attempt
    int retried = 0;                            // in the repeat `of_repeat`
    int of_repeat = 1;
    std::string failed_on = {};  // the devices of its last attempt that failed
    std::string passed_on = {};  // and of the last one that did not
  };
  // Cases that were skipped and never started, of one suite and for one reason.
  struct Skipped {
    int count = 0;
    std::string first = {};
  };

  ConsoleOutput& output_;
  ConsoleOptions options_;
  std::string run_dir_;
  std::string run_dir_from_here_;
  std::vector<std::string> notes_;
  bool status_ = false;        // a status line is wanted
  bool status_shown_ = false;  // and there is one below
  Clock::time_point started_ = Clock::now();
  std::map<std::string, Planned> planned_;
  std::list<AttemptStarted> running_;            // in the order of their begins
  std::map<std::string, FailedAttempt> failed_;  // the last one of a case that has not ended
  LiveState counts_;
  bool each_device_ = false;
  std::map<std::pair<std::string, std::string>, Skipped> skipped_;
  std::int64_t reported_running_ms_ = 0;
  std::int64_t reported_progress_ms_ = 0;
  std::map<std::string, std::uint64_t> shown_of_log_;  // bytes of logs that several cases may share
  std::map<std::pair<std::string, bool>, std::string> open_lines_;  // of a case's two streams
  std::size_t lines_not_shown_ = 0;                                 // for which the reader was too slow
};

}  // namespace proctor::cli
