// What the runner must know about a test framework, in one place: how a program of it is recognised, how it is
// asked for its cases and told which of them to run, and what its words mean in the child protocol
// (journal/child_protocol.h). Everybody else asks the kind of a suite.
//
// A new kind is a file pair in this folder with one function that returns the kind, that function in the list of
// all_kinds.cc, and the .cc file in CMakeLists.txt; for the rest see "Where to add" in docs/internals/architecture.md. What
// only describes a framework is a member of Traits, what has to be computed is a virtual function. A small example is command.cc, a large one gtest.cc.
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

// How one listing command ended.
struct ListOutput {
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  bool timed_out = false;
  std::string spawn_error;  // "exec: No such file or directory"; empty when it ran
  std::string stdout_text;  // all of it
  std::string file_text;    // what it wrote to its file (Traits::list_file); "" = nothing, or there is none
  bool stdout_truncated = false;  // it was more than could be kept
  std::string stderr_tail;
  std::vector<std::string> event_lines;  // from PROCTOR_EVENTS_FD, in order
  std::uint64_t events_too_long = 0;
  std::string
      no_device;  // the backend of which it was to see devices and there are none; "" = it saw what it should
};

// Runs one more listing command of a suite. Its error is to be passed on.
using Ask = std::function<Result<ListOutput>(const std::vector<std::string>& argv)>;

// Where programs and Python modules are looked for.
struct SearchPaths {
  std::string path;           // the caller's PATH
  std::string python_path;    // the caller's PYTHONPATH; "" = none
  std::string pytest_plugin;  // the directory of proctor_pytest.py; "" = it is not installed
  std::map<std::string, std::string> caller = {};  // the caller's environment
};

// How a process tells what its cases did.
enum class ReportingMode {
  kExitCode,  // by its exit code alone
  kEvents,    // in lines of the child protocol
  kStream,    // in the framework's own words, as they happen, which a Translator turns into such lines
  kFile,      // in a file when it has ended, which a Translator turns into such lines
  // In a file when it has ended, which a ProgressReader turns into such lines. What it prints shows which of several
  // cases runs.
  kFileOfSeveral,
};

// Whether it says while it runs when a case begins and ends.
inline bool report_begin_and_end(ReportingMode reporting_mode) {
  return reporting_mode != ReportingMode::kExitCode && reporting_mode != ReportingMode::kFile;
}

// Of earlier steps of a case, which goes to stdout, and of the step that runs.
inline constexpr const char* kCapturedEndings[] = {".before", ".out", ".err"};

// Turns the words of a framework into lines of the child protocol.
class Translator {
 public:
  virtual ~Translator() = default;
  // `text` is what comes next: a line with its end for kStream, the whole file for kFile. Returns the event
  // lines that are complete with it. What cannot be understood becomes a line that is no event.
  virtual std::vector<std::string> translate(std::string_view text) = 0;
  // kFile, before its file: what the process printed last.
  virtual void on_line(std::string_view) {}
};

// What a line of output shows about the cases of a process.
struct ProgressStep {
  enum class What { kNothing, kBegin, kEnd, kFailed, kAllEnded };
  What what = What::kNothing;
  std::string name{};  // of the case; kFailed: which has ended as failed
};

// Reads from the output of a process which of its cases runs. Any code of a case can print the same lines: they are no
// results.
class ProgressReader {
 public:
  virtual ~ProgressReader() = default;
  virtual ProgressStep read(std::string_view line) = 0;
  // Whether it printed a failure outside of all cases, which may concern any of them.
  virtual bool failed_outside() const = 0;
  // The results of all cases, one after the other, from its result file. Empty: the text is no result file.
  virtual std::vector<std::string> translate(std::string_view file) const = 0;
};

// How a case ended whose process ended by itself, or went on with another case.
struct CaseEnd {
  const ChildReport& child;
  int exit_code = 0;             // 0 when the process went on
  bool went_on = false;          // the process began another case: its exit code is not about this one
  bool another_was_bad = false;  // a case before it in the same process
  int skip_code = 0;             // Suite::skip_code
};

class Kind {
 public:
  // What needs no code.
  struct Traits {
    std::string_view name;       // as in `kind = "gtest"`
    std::string_view framework;  // "GoogleTest tests": what a program of it lists
    // Texts that stand in a program of this kind; a library that is linked dynamically leaves its own name.
    // Only a program that contains one is asked to list.
    std::vector<std::string_view> markers = {};
    std::vector<std::string_view> processes = {"case",
                                               "suite"};  // values of `process`; the first is the default
    // Made with our suites/main: gets a strict environment, a scratch directory, and its sizes and devices as
    // the child protocol says.
    bool ours = false;
    bool markers_for_devices = false;  // `gpus = "marker:NAME"`
    bool classnames = false;           // JUnit's classname is the framework's own, and not that of the suite
    bool one_case = false;             // the whole command is one case, so that there is nothing to list
    bool ranks = false;                // a suite may say how many ranks its cases have
    int skip_code = 0;                 // with which a process also exits that reported a skip; 0: none
    // What it lists, or whether it comes to that, may depend on the devices that it sees.
    bool lists_with_devices = false;
    // Before the name of a file to which a listing program writes its list too: "--gtest_output=json:".
    std::string_view list_file = {};
    // Of what a listing prints, or writes to its file: each is in a list of this kind alone. A program that prints one
    // is refused where its list cannot be read, and not judged by its exit code. None: only a list that can be read is one.
    std::vector<std::string_view> list_marks = {};
    bool any_list_code = false;  // a listing has done what it was asked whatever it exits with
    ReportingMode reporting_mode = ReportingMode::kExitCode;
    std::optional<ReportingMode> reporting_mode_of_several =
        {};  // of a process of several cases, if it is another one
    // With the name of a file for "{}". kStream, kFile and kFileOfSeveral: what is added to the
    // command so that it writes to the file.
    // kEvents: so that it keeps what it captures and has not printed in the file with each of kCapturedEndings behind
    // it; empty: it captures nothing.
    std::vector<std::string_view> output = {};
    bool dashes_end_options = false;  // behind a `--` of the command stands what is the program's own
    // Variables by which a caller's environment would leave tests out. The first ones no program gets from the
    // caller; the others may hold what a suite needs, so that they are passed on, as part of the plan where they do.
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

  // Whether the words of a command alone say that it is of this kind, whatever stands in the file.
  virtual bool is_command(const std::vector<std::string>& command) const;
  // Adds the variables that a program of this kind needs, both to list and to run.
  virtual Result<void> settle_environment(Suite& suite, const SearchPaths& paths) const;
  // Whether a caller's value of one of Traits::caller_options leaves tests out, or may.
  virtual bool leaves_tests_out(std::string_view name, const std::string& value) const;
  // What to use instead of a variable in the suite's own environment that would run only a part of its cases, or each
  // of them in another way than once: "--filter"; "" = it does not.
  virtual std::string instead_of(std::string_view name, const std::string& value) const;
  virtual std::vector<std::string> list_command(const Suite& suite) const = 0;
  bool listed_well(int code) const { return code == 0 || traits_.any_list_code; }
  bool is_list(const ListOutput& out) const;  // Traits::list_marks
  // The cases in order, with the framework's own id of each in Case::id; the caller puts the suite in front.
  // May settle what only the list can tell of `suite`, and ask the program for more. An error completes
  // "`COMMAND` ...".
  virtual Result<std::vector<Case>> read_list(Suite& suite, const ListOutput& out, const Ask& ask,
                                              std::vector<Warning>& warnings) const = 0;
  // Refuses a list in which a case cannot be run without another one. The error completes "`COMMAND` ...".
  virtual Result<void> check_alone(const std::vector<Case>& cases) const;
  // What stops a list from being complete however the program exited, said by the program; "" = nothing.
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
  // The command with them.
  std::vector<std::string> with_output(std::vector<std::string> command, const std::string& file) const;
  // kStream and kFile: a new one for each process of `suite`, whose first case is `first`.
  virtual std::unique_ptr<Translator> translator(const Suite& suite, const Case& first) const;
  // kFileOfSeveral: a new one for each process.
  virtual std::unique_ptr<ProgressReader> progress_reader() const;
  // How a program reports several cases in a process, for the header: "by Proctor's listener"; "" = there is one way.
  virtual std::string way_of_reporting(const Suite& suite) const;
  // What lets cases share a process that cannot otherwise, in a sentence without a capital; "" = nothing is known.
  virtual std::string how_to_share(const Suite& suite) const;
  // What the program calls a case in its events, and is told in a file of cases.
  std::string name_for_child(const Case& test) const;
  // Several cases in one process: what stands in the file that says which, and the command that reads it.
  virtual std::string batch_file(const std::vector<const Case*>& cases) const;
  virtual std::vector<std::string> batch_command(const std::vector<const Case*>& cases,
                                                 const std::string& file) const;

  // ---- judging

  // For the rules of a kind, see its header.
  virtual Verdict judge(const CaseEnd& end) const = 0;

 private:
  Traits traits_;
};

// ---- for the kinds themselves

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more);
// With a backslash before each of the `special` characters, for what a framework gives a meaning in a name.
std::string escaped(std::string_view text, std::string_view special);
// The case that a whole command is.
Case whole_command(const Suite& suite);
// A line of the child protocol; `fields` is an object.
std::string event_line(std::string_view event, nlohmann::json fields = nlohmann::json::object());
// Case::group where process = "suite" means all cases of a suite.
std::string group_of(const Suite& suite);
// The names that the command of a case may choose.
struct Choice {
  std::string begin;  // how each of them begins, ...
  bool whole = true;  // ... and that is all of it
};
// For Kind::check_alone(). `names` and `choices` are those of the cases. `runs_too(one, other)`: whether the command of
// case number `one` also runs `other`, whose name it may choose.
Result<void> check_each_alone(const std::vector<Case>& cases, const std::vector<std::string>& names,
                              const std::vector<Choice>& choices,
                              const std::function<bool(std::size_t one, std::size_t other)>& runs_too);

// For frameworks that report each case and exit with another code than 0 when one failed. `failed_code`:
// whether CaseEnd::exit_code is the one that a failed test leads to.
//
//   another case ran, or this one twice                           error(result_mismatch)
//   no `end` event                                                error(no_result)
//   events that are no events                                     error(protocol)
//   end fail, exit 0                                              error(result_mismatch)
//   end error                                                     error(R)
//   end pass | fail | skip | xfail | xpass                        pass | fail | skip(framework) | xfail | xpass
//   end other than fail, exit not 0 and not because of a case
//   before it in the same process                                 fail(exit:N)
Verdict judge_reported(const CaseEnd& end, bool failed_code);

}  // namespace proctor
