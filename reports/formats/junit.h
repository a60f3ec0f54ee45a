// Writes JUnit XML in three forms. Each is valid under a schema of Proctor in reports/schema/. The first two are also
// valid under the published schemas that other tools use for validation:
//   junit.xml                   root testsuites; junit-portable.xsd, and junit-10.xsd of the Jenkins
//                               xunit plugin
//   junit/SUITE.BACKEND.xml     root testsuite; junit-strict.xsd, junit-10.xsd, and Maven Surefire's schema. At most
//                               4,500 cases and 25 MB; SUITE.BACKEND.2.xml and so on have the remaining cases
//   junit-extended.xml          like junit.xml, with extensions that GitLab, Datadog and GitHub actions read: file and
//                               line of a failure relative to the checkout, properties of each case, dd_tags[...] and
//                               [[ATTACHMENT|...]]; junit-extended.xsd
//
//   outcome                     element of its testcase
//   pass                        none; earlier bad attempts are flakyFailure
//   fail, xpass of kind proctor failure type="proctor.OUTCOME"
//   error crash timeout stall
//   device_lost notrun          error type="proctor.OUTCOME"
//   skip, xfail, other xpass    skipped message="proctor.OUTCOME: REASON"
//   Other bad attempts of a bad case are rerunFailure, never a second testcase.
//
// A problem of the run that is not a case is a testcase with an error in the suite proctor.run (run_end.h).
//
// classname and name are those of the plan (harness/plan/planner.h), and unique in a run. If a pair repeats, for
// example in the report of runs of several configurations, the id is appended to the name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// One file of the directory junit/.
struct JunitFile {
  std::string name;  // "SUITE.BACKEND.xml"
  std::string text;
};
using UseJunitFile = std::function<void(JunitFile file)>;

// Writes junit.xml, and passes the files of the suites to `use` one after the other. All of them together may exceed
// the memory of the runner.
void write_junit(const ResolvedRun& run, TextOutput& output, const UseJunitFile& use);

void write_junit_run(const ResolvedRun& run, TextOutput& output);
// Writes junit.xml to a file, which is replaced atomically.
Result<void> write_junit_file(const std::string& path, const ResolvedRun& run);
void write_junit_extended(const ResolvedRun& run, TextOutput& output);
std::string junit_run(const ResolvedRun& run);
std::vector<JunitFile> junit_suites(const ResolvedRun& run);

// Returns the file for a run without a journal: it has one error with the reason `why`.
std::string junit_without_run(const std::string& why);

}  // namespace proctor
