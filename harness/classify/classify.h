// Finds the cause and the owner of a failed attempt. The diagnosis is a pure function of the attempt's symptoms and of
// the rules.
//
// A line counts for the first rule that it matches. The first rule with a line is the diagnosis; further rules with
// lines are listed in it. A line of the kernel log counts only if it names a device of the attempt, unless the rule has
// any_device. The caller passes only lines from the time of the attempt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/classify/rules.h"
#include "harness/journal/events.h"
#include "harness/journal/machine_facts.h"

namespace proctor {

// The subjects of a kernel log line: devices by PCI address, and a process if the line names one.

struct KernelProcess {
  int pid = 0;
  std::string name;  // from the kernel: at most 15 bytes
};

// Returns `0000:03:00` of "0000:03:00.0", "00000000:03:00.0" or "0000:03:00". The function number is dropped, because
// Xid lines do not have it. Returns "" if `text` is not a PCI address.
std::string pci_slot(std::string_view text);

// Returns every address in the line's text and the address in the kernel's record of the line, as pci_slot() does.
std::vector<std::string> pci_slots(const KernelLine& line);

// Reads "pid=4711, name=python3", "pid='4711'" or "in python3 [4711]".
std::optional<KernelProcess> process_of(std::string_view text);

struct Symptoms {
  Verdict verdict;                      // judged from the process and its kind
  std::vector<KernelLine> kernel = {};  // lines from the time of the attempt
  std::vector<std::string> pci = {};    // addresses of the attempt's devices
  std::vector<std::string> got = {};    // unexpected values in the attempt's checks
  std::vector<std::string> said = {};   // texts of its failures, then its output
  // Expected values of its checks. An error that a check expects is a symptom in `got`, but not in `said`.
  std::vector<std::string> expected = {};
  // Returns whether a process in a kernel line does not belong to the run. Empty if that is unknown.
  std::function<bool(const KernelProcess&)> is_foreign = {};
};

// `symptoms.verdict` must be a failure. There is always a diagnosis.
Diagnosis classify(const RuleSet& rules, const Symptoms& symptoms);

// Returns the outcome after the diagnosis. It is device_lost or crash(oom_host) if the rule sets it and the attempt
// failed, crashed or reached a limit; otherwise `verdict`.
Verdict corrected(const RuleSet& rules, const Diagnosis& diagnosis, const Verdict& verdict);

// A device error in the kernel log, independent of the outcome of any case.
struct KernelError {
  const Rule* rule;
  std::string line;
};

// Returns the first line of each rule that matches lines about this device. A fatal error of the links between a
// vendor's devices (Rule::any_device) counts for each of these devices. `vendor` has the values of Rule::vendor.
std::vector<KernelError> kernel_errors(const RuleSet& rules, const std::vector<KernelLine>& lines,
                                       const std::string& pci, std::string_view vendor);

// Returns the lines that name one of these devices.
std::vector<KernelLine> lines_about(const std::vector<KernelLine>& lines,
                                    const std::vector<std::string>& pci);

}  // namespace proctor
