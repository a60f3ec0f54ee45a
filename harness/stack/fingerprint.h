// Captures the driver stack of a machine as a list of facts, one or more per layer. Everything is read from files: no
// driver is loaded and no tool is started. A fact that cannot be read is unknown and has a reason.
// docs/how-to/stacks.md lists all names.
//
// The file also reads Debian's lists of installed and offered packages, and RunStack compares the stack before and
// after a run.
// The driver stack of a run: captured before the first case, and again after the last one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/journal/events.h"

namespace proctor {

using Fingerprint = std::vector<StackFact>;

// `root` replaces "/" (tests use simulated hosts). The image digest comes from the program that starts the image.
Fingerprint capture_stack(const std::string& root, const std::optional<std::string>& image_digest);

// Returns PROCTOR_IMAGE_DIGEST of this process.
std::optional<std::string> image_digest_of_caller();

// Returns whether the fingerprint has a fact about this package. Versions of other packages are not recorded.
bool is_package_of_layer(std::string_view package);

// Returns "kmd.nvidia: 580.65.06, then 580.95.05" for each fact that changed.
std::vector<std::string> changes(const Fingerprint& before, const Fingerprint& after);

// Returns an array of {name, value, source, reason}; value is null if the fact is unknown.
std::string to_json(const Fingerprint& fingerprint);

// Returns name and version of every package with the status "install ok installed" (dpkg's status file, deb822).
std::map<std::string, std::string> installed_packages(std::string_view status);

// Returns name and versions of every package in a repository's index (Packages file, deb822).
std::map<std::string, std::set<std::string>> offered_packages(std::string_view index);

// The driver stack of a run. The constructor captures it before the first case.
class RunStack {
 public:
  explicit RunStack(std::string root);

  // Adds every fact to the plan, and the known ones also by name.
  void describe(RunPlanned& planned) const;
  // Captures the stack again after the last case. All results must belong to one stack, so a change is a warning that
  // makes the verdict `machine_failed`.
  std::vector<Warning> check_again() const;

 private:
  std::string root_;
  std::vector<StackFact> before_;
};

}  // namespace proctor
