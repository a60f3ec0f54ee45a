// JUnit XML in three shapes, each valid under a schema of ours in reports/schema/, the first two also under the
// published ones that tools really validate against:
//   junit.xml                   root testsuites; junit-portable.xsd, and junit-10.xsd of the Jenkins
//                               xunit plugin
//   junit/SUITE.BACKEND.xml     root testsuite; junit-strict.xsd, junit-10.xsd, and Maven Surefire's schema. At most
//                               4,500 cases and 25 MB; what is left is in SUITE.BACKEND.2.xml, and so on
//   junit-extended.xml          as junit.xml, with what GitLab, Datadog and actions of GitHub read beyond the schemas:
//                               file and line of a failure relative to the checkout, properties of each case,
//                               dd_tags[...] and [[ATTACHMENT|...]]; junit-extended.xsd
//
//   outcome                     element of its testcase
//   pass                        none; earlier bad attempts are flakyFailure
//   fail, xpass of our kind     failure type="proctor.OUTCOME"
//   error crash timeout stall
//   device_lost notrun          error type="proctor.OUTCOME"
//   skip, xfail, other xpass    skipped message="proctor.OUTCOME: REASON"
//   Other bad attempts of a bad case are rerunFailure, never a second testcase.
//
// What reddens the run and is no case is a testcase with an error in the suite proctor.run (run_end.h).
//
// (classname, name) is that of the plan (harness/plan/planner.h), and unique in a run: where a pair is there twice
// all the same, as in the report of runs of several configurations, the id is appended to the name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct JunitFile {
  std::string name;  // "SUITE.BACKEND.xml"
  std::string text;
};
using UseJunitFile = std::function<void(JunitFile file)>;

// junit.xml, and the files of the suites one after the other: together they may be larger than what a runner may hold.
void write_junit(const ResolvedRun& run, TextOutput& output, const UseJunitFile& use);

void write_junit_run(const ResolvedRun& run, TextOutput& output);
// Writes it to a file, which is replaced at once.
Result<void> write_junit_file(const std::string& path, const ResolvedRun& run);
void write_junit_extended(const ResolvedRun& run, TextOutput& output);
std::string junit_run(const ResolvedRun& run);
std::vector<JunitFile> junit_suites(const ResolvedRun& run);

// The file of a run that has no journal, or none yet: one such error, which says why.
std::string junit_without_run(const std::string& why);

}  // namespace proctor
