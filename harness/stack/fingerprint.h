// What a machine's driver stack is, layer by layer, read from files only: no driver is loaded and no tool is
// started. A fact that cannot be read is unknown, with a reason; docs/how-to/stacks.md lists all names.
//
// The packages that a Debian system says are installed, and those that a repository offers, read from files.
//
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

// `root` stands for "/" (tests have hosts of their own). The program that starts the image gives its digest.
Fingerprint capture_stack(const std::string& root, const std::optional<std::string>& image_digest);

// PROCTOR_IMAGE_DIGEST of this process.
std::optional<std::string> image_digest_of_caller();

// Whether the fingerprint has a fact about this package, by its name: of the other packages nobody knows afterwards.
bool is_package_of_layer(std::string_view package);

// "kmd.nvidia: 580.65.06, then 580.95.05" for each fact that changed.
std::vector<std::string> changes(const Fingerprint& before, const Fingerprint& after);

// An array of {name, value, source, reason}; value is null where it is unknown.
std::string to_json(const Fingerprint& fingerprint);

// Name and version of every package whose status is "install ok installed" (dpkg's status file, deb822).
std::map<std::string, std::string> installed_packages(std::string_view status);

// Name and versions of every package that a repository's index offers (Packages file, deb822).
std::map<std::string, std::set<std::string>> offered_packages(std::string_view index);

class RunStack {
 public:
  explicit RunStack(std::string root);

  // Adds every fact to the plan, and the known ones also by name.
  void describe(RunPlanned& planned) const;
  // A result must be from one stack, so a change is a warning that makes the machine red.
  std::vector<Warning> check_again() const;

 private:
  std::string root_;
  std::vector<StackFact> before_;
};

}  // namespace proctor
