// Everything that the runner needs to support a test framework. A kind recognises a program of the framework,
// lists its cases, and runs some of them. It translates their output into the child protocol
// (journal/child_protocol.h). No other code depends on a framework.
//
// A new kind is a file pair in this folder with one function that returns the kind, that function in the list
// of all_kinds.cc, and the .cc file in CMakeLists.txt. For the remaining steps see "Where to add" in
// docs/internals/architecture.md. A fact about a framework is a member of Traits, and a computation is a
// virtual function. command.cc is a small example, gtest.cc a large one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/result.h"
#include "harness/frameworks/suite.h"
#include "harness/journal/child_report.h"
#include "harness/journal/events.h"

namespace proctor {

// The result of one listing command.
struct ListOutput {
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  bool timed_out = false;
  std::string spawn_error;        // "exec: No such file or directory"; "" if it was started
  std::string stdout_text;        // complete
  std::string file_text;          // content of its file (Traits::list_file); "" if it has none
  bool stdout_truncated = false;  // there was more output than could be kept
  std::string stderr_tail;
  std::vector<std::string> event_lines;  // from PROCTOR_EVENTS_FD, in order
  std::uint64_t events_too_long = 0;
  // The backend without any device, if the command was to see devices of it; else "".
  std::string no_device;
};

// Runs one more listing command of a suite. The caller must pass its error on.
using Ask = std::function<Result<ListOutput>(const std::vector<std::string>& argv)>;

// The search paths of programs and Python modules.
struct SearchPaths {
  std::string path;           // the caller's PATH
  std::string python_path;    // the caller's PYTHONPATH, or ""
  std::string pytest_plugin;  // the directory of proctor_pytest.py; "": it is not installed
  std::map<std::string, std::string> caller = {};  // the caller's environment
};

// How a process reports the results of its cases.
enum class ReportingMode {
  kExitCode,  // by its exit code alone
  kEvents,    // in lines of the child protocol
  kStream,    // in the framework's own format, as they happen; a Translator turns it into such lines
  kFile,      // in a file at its end; a Translator turns it into such lines
  // In a file at its end, which a ProgressReader turns into such lines. The output shows which of several
  // cases runs.
  kFileOfSeveral,
};

// Returns true if the process reports during its run when a case begins and ends.
inline bool report_begin_and_end(ReportingMode reporting_mode) {
  return reporting_mode != ReportingMode::kExitCode && reporting_mode != ReportingMode::kFile;
}

// Endings of the files with captured output: of earlier steps of a case, which goes to stdout, and of the
// running step.
inline constexpr const char* kCapturedEndings[] = {".before", ".out", ".err"};

// Turns the output of a framework into lines of the child protocol.
class Translator {
 public:
  virtual ~Translator() = default;
  // `text` is the next part: a line with its end for kStream, the whole file for kFile. Returns the event
  // lines that this part completes. Unreadable text becomes a line that is not an event.
  virtual std::vector<std::string> translate(std::string_view text) = 0;
  // kFile: gets the end of the process's output, before the call for the file.
  virtual void on_line(std::string_view) {}
};

// A change of the running case that a line of output shows.
struct ProgressStep {
  enum class What { kNothing, kBegin, kEnd, kFailed, kAllEnded };
  What what = What::kNothing;
  std::string name{};  // of the case; kFailed: of a case that has ended as failed
};

// Detects from the output of a process which of its cases runs. The code of a case can print the same lines,
// so they are not results.
class ProgressReader {
 public:
  virtual ~ProgressReader() = default;
  virtual ProgressStep read(std::string_view line) = 0;
  // Returns true if the process printed a failure outside of all cases, which may concern any of them.
  virtual bool failed_outside() const = 0;
  // Returns the results of all cases, one after the other, from the result file. Empty if the text is not a
  // result file.
  virtual std::vector<std::string> translate(std::string_view file) const = 0;
};

// The end of a case whose process ended by itself, or continued with another case.
struct CaseEnd {
  const ChildReport& child;
  int exit_code = 0;             // 0 if the process continued
  bool went_on = false;          // the process began another case, so its exit code is not about this one
  bool another_was_bad = false;  // an earlier case in the same process
  int skip_code = 0;             // Suite::skip_code
};

// One test framework. The runner calls the kind of a suite to list, run and judge its cases. An object has no
// state, and exists once.
class Kind {
 public:
  // Properties of the framework that need no code.
  struct Traits {
    std::string_view name;       // as in `kind = "gtest"`
    std::string_view framework;  // "GoogleTest tests": what its programs list
    // Texts in a program of this kind; a dynamically linked library leaves its name. Proctor lists only
    // programs that contain one.
    std::vector<std::string_view> markers = {};
    // Values of `process`; the first is the default.
    std::vector<std::string_view> processes = {"case", "suite"};
    // Made with Proctor's suites/main: gets a strict environment, a scratch directory, and its sizes and
    // devices by the child protocol.
    bool ours = false;
    bool markers_for_devices = false;  // `gpus = "marker:NAME"`
    bool classnames = false;           // JUnit's classname is the framework's own, not the suite's
    bool one_case = false;             // the whole command is one case, so no list exists
    bool ranks = false;                // a suite may set the number of ranks of its cases
    int skip_code = 0;                 // exit code of a process that reported a skip; 0: none
    // The list, or the success of listing, may depend on the visible devices.
    bool lists_with_devices = false;
    // An option that ends with the name of a file, to which a listing program also writes its list:
    // "--gtest_output=json:".
    std::string_view list_file = {};
    // Texts that only a list of this kind contains, on stdout or in its file. A program that prints one is
    // refused if its list cannot be read, and is not judged by its exit code. If there are no such texts,
    // only a readable list counts as one.
    std::vector<std::string_view> list_marks = {};
    bool any_list_code = false;  // a listing succeeds with any exit code
    ReportingMode reporting_mode = ReportingMode::kExitCode;
    std::optional<ReportingMode> reporting_mode_of_several =
        {};  // for a process of several cases, if it differs
    // Options with "{}" for the name of a file. kStream, kFile and kFileOfSeveral: with them, the command
    // writes its report to the file. kEvents: with them, it keeps captured output that it has not printed.
    // The files for this have the endings in kCapturedEndings. If empty, it captures nothing.
    std::vector<std::string_view> output = {};
    bool dashes_end_options = false;  // the words after a `--` of the command are the program's own
    // Variables with which a caller's environment would leave tests out. No program gets the first ones from
    // the caller. The second ones may contain settings that a suite needs: they are passed on, as part of the
    // plan if they do.
    std::vector<std::string_view> caller_filters = {};
    std::vector<std::string_view> caller_options = {};
  };

  explicit Kind(Traits traits) : traits_(std::move(traits)) {}
  virtual ~Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;

  const Traits& traits() const { return traits_; }
  std::string_view name() const { return traits_.name; }
  bool ours() const { return traits_.ours; }

  // ---- listing

  // Returns true if the words of a command alone show that it is of this kind, regardless of the file.
  virtual bool is_command(const std::vector<std::string>& command) const;
  // Adds the variables that a program of this kind needs, for both listing and running.
  virtual Result<void> settle_environment(Suite& suite, const SearchPaths& paths) const;
  // Returns true if a caller's value of one of Traits::caller_options leaves tests out, or may do so.
  virtual bool leaves_tests_out(std::string_view name, const std::string& value) const;
  // Returns the replacement, such as "--filter", for a variable in the suite's own environment. Such a
  // variable would run only some cases of the suite, or not run each of them exactly once. Returns "" if the variable
  // has no such effect.
  virtual std::string instead_of(std::string_view name, const std::string& value) const;
  virtual std::vector<std::string> list_command(const Suite& suite) const = 0;
  bool listed_well(int code) const { return code == 0 || traits_.any_list_code; }
  bool is_list(const ListOutput& out) const;  // Traits::list_marks
  // Returns the cases in order, with the framework's own id of each in Case::id; the caller adds the suite.
  // It may set properties of `suite` that only the list shows, and run the program again. An error completes
  // "`COMMAND` ...".
  virtual Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask& ask,
                                              std::vector<Warning>& warnings) const = 0;
  // Refuses a list with a case that cannot run without another one. The error completes "`COMMAND` ...".
  virtual Result<void> check_alone(const std::vector<Case>& cases) const;
  // Returns a problem that makes the list incomplete regardless of the exit code, with the program's message
  // in `said`; "" if it has none.
  virtual std::string list_problem(const ListOutput& out, std::string& said) const;

  // ---- running

  ReportingMode reporting_mode(const Suite& suite) const {
    return suite.listener ? ReportingMode::kEvents : traits_.reporting_mode;
  }
  ReportingMode reporting_mode_of_several(const Suite& suite) const {
    return suite.listener ? ReportingMode::kEvents
                          : traits_.reporting_mode_of_several.value_or(traits_.reporting_mode);
  }
  std::vector<std::string> output_options(const std::string& file) const;  // Traits::output
  // Returns the command with these options.
  std::vector<std::string> with_output(std::vector<std::string> command, const std::string& file) const;
  // kStream and kFile: creates a translator for each process of `suite`. Its first case is `first`.
  virtual std::unique_ptr<Translator> translator(const Suite& suite, const Case& first) const;
  // kFileOfSeveral: creates a reader for each process.
  virtual std::unique_ptr<ProgressReader> progress_reader() const;
  // Describes for the header how a program reports several cases in a process: "by Proctor's listener"; "" if
  // only one way exists.
  virtual std::string way_of_reporting(const Suite& suite) const;
  // Describes, in a sentence without a capital, how cases that need separate processes could share one; "" if
  // unknown.
  virtual std::string how_to_share(const Suite& suite) const;
  // The name of a case in the program's events, and in a file of cases.
  std::string name_for_child(const Case& test) const;
  // For several cases in one process: the content of the file that selects them, and the command that reads
  // it.
  virtual std::string batch_file(const std::vector<const Case*>& cases) const;
  virtual std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                                 const std::string& file) const;

  // ---- judging

  // Determines the outcome of a case. The header of each kind lists its rules.
  virtual Verdict judge(const CaseEnd& end) const = 0;

 private:
  Traits traits_;
};

// ---- for the kinds themselves

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more);
// Adds a backslash before each of the `special` characters, which have a meaning for the framework in a name.
std::string escaped(std::string_view text, std::string_view special);
// Returns the case that consists of the whole command.
Case whole_command(const Suite& suite);
// Returns a line of the child protocol; `fields` is an object.
std::string event_line(std::string_view event, nlohmann::json fields = nlohmann::json::object());
// Returns Case::group for all cases of a suite with process = "suite".
std::string group_of(const Suite& suite);
// The names that the command of a case may select.
struct Choice {
  std::string begin;  // the beginning of each such name
  bool whole = true;  // the name ends there
};
// For Kind::check_alone(). `names` and `choices` are those of the cases. `runs_too(one, other)` returns true
// if the command of case number `one` also runs `other`, whose name it may select.
Result<void> check_each_alone(const std::vector<Case>& cases, const std::vector<std::string>& names,
                              const std::vector<Choice>& choices,
                              const std::function<bool(std::size_t one, std::size_t other)>& runs_too);

// For frameworks that report each case, and exit with a code other than 0 when one failed. `failed_code`:
// CaseEnd::exit_code is the exit code for a failed test.
//
//   another case ran, or this one twice                           error(result_mismatch)
//   no `end` event                                                error(no_result)
//   invalid events                                                error(protocol)
//   end fail, exit 0                                              error(result_mismatch)
//   end error                                                     error(R)
//   end pass | fail | skip | xfail | xpass                        pass | fail | skip(framework) | xfail | xpass
//   end other than fail, exit not 0 and not because of an
//   earlier case in the same process                              fail(exit:N)
Verdict judge_reported(const CaseEnd& end, bool failed_code);

}  // namespace proctor
