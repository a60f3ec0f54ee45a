// Finds the owner of a failed attempt, from what it left behind. A pure function of its symptoms and of the
// rules.
//
// A line counts for the first rule that it matches; the first rule that has a line is the diagnosis, and the
// others are listed beside it. Lines of the kernel log count only if they name a device of the attempt
// (unless the rule says otherwise). The caller passes only the lines from the time of the attempt.
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

// What a line of the kernel log is about: devices by PCI address, and a process if the line names one.

struct KernelProcess {
  int pid = 0;
  std::string name;  // as the kernel knows it: at most 15 bytes
};

// `0000:03:00` of "0000:03:00.0", "00000000:03:00.0" and "0000:03:00": without the function, which Xid lines
// do not have. "" when `text` is no PCI address.
std::string pci_slot(std::string_view text);

// Every address that the line names, and the one that the kernel gives beside it; as pci_slot.
std::vector<std::string> pci_slots(const KernelLine& line);

// "pid=4711, name=python3", "pid='4711'", "in python3 [4711]".
std::optional<KernelProcess> process_of(std::string_view text);

struct Symptoms {
  Verdict verdict;                      // as judged from the process and its kind
  std::vector<KernelLine> kernel = {};  // of the attempt's time
  std::vector<std::string> pci = {};    // addresses of its devices
  std::vector<std::string> got = {};    // what its checks saw that they did not expect
  std::vector<std::string> said = {};   // its failures, then what it wrote
  // What its checks wanted to see. An error that is wanted is no symptom where it is said, and one where it is got.
  std::vector<std::string> expected = {};
  // Whether a process that the kernel names is none of ours. Empty if that is not known.
  std::function<bool(const KernelProcess&)> is_foreign = {};
};

// `symptoms.verdict` is bad: there always is a diagnosis.
Diagnosis classify(const RuleSet& rules, const Symptoms& symptoms);

// The outcome that the diagnosis makes of `verdict`: device_lost or crash(oom_host) where its rule says so
// and the attempt failed, crashed or hit a limit; else `verdict`.
Verdict corrected(const RuleSet& rules, const Diagnosis& diagnosis, const Verdict& verdict);

// An error of a device in the kernel log. It does not depend on the outcome of a case.
struct KernelError {
  const Rule* rule;
  std::string line;
};

// Returns the first line of each rule that matches lines about this device. A fatal error of the links between the devices
// of a vendor (Rule::any_device) counts for each of these devices. `vendor` has the values of Rule::vendor.
std::vector<KernelError> kernel_errors(const RuleSet& rules, const std::vector<KernelLine>& lines,
                                       const std::string& pci, std::string_view vendor);

// The lines that name one of these devices.
std::vector<KernelLine> lines_about(const std::vector<KernelLine>& lines,
                                    const std::vector<std::string>& pci);

}  // namespace proctor
