// A driver stack as a value: docker/stacks/NAME.toml says which base image, which packages and which files
// make it (docs/how-to/stacks.md). A value that is not pinned is refused, unless the lock says that nobody has
// verified it yet. Such a value may be missing; it is then never guessed, but the rendered Dockerfile asks
// for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr const char* kBaseFlavour = "base";    // runs programs
inline constexpr const char* kDevelFlavour = "devel";  // compiles them too

struct LockedBase {
  std::string flavour{};                // kBaseFlavour, kDevelFlavour; "" = the lock speaks of none
  std::string image{};                  // "ubuntu:24.04": for people
  std::optional<std::string> digest{};  // "sha256:...": the image that is built upon
  std::string source{};                 // who says so, and when it was looked up: for people
  bool unverified = false;
};

struct LockedRepository {
  std::string name{};
  std::string url{};       // with {snapshot} in the place of the date
  std::string snapshot{};  // "20261120T000000Z"; "" = it has no dates, and keeps its old versions
  std::vector<std::string> suites{};
  std::vector<std::string> components{};
  std::optional<std::string> key{};  // fingerprint of the key that signs it, 40 hex digits
  // Where that key is, if the base image does not have it. What else is in the file is not trusted.
  std::optional<std::string> key_url{};
  std::string source{};
  bool unverified = false;

  std::string url_at_snapshot() const;
};

// From a repository.
struct LockedPackage {
  std::string name{};
  std::string version{};
  std::string source{};
  std::string flavour{};  // of the images that have it; "" = all
  bool unverified = false;
};

// A Python package, which pip takes from an index by its hash.
struct LockedWheel {
  std::string name{};
  std::string version{};
  std::vector<std::string> sha256{};  // of the files that may be taken; one of them fits the image's Python
  std::string source{};
  std::string flavour{};
  bool unverified = false;
};

// A Debian package taken by URL.
struct LockedFile {
  std::string name{};  // of the package
  std::string
      version{};  // as dpkg must report it once it is installed; that of the release if the file is unknown
  std::optional<std::string> url{};
  std::optional<std::string> sha256{};
  std::string source{};
  std::string flavour{};  // as a package's
  bool unverified = false;
};

// What the image cannot contain and the host must have.
struct LockedHost {
  std::string driver{};   // "nvidia"
  std::string minimum{};  // "580"
  std::string source{};
};

struct StackLock {
  std::string name{};
  std::string title{};
  std::string date{};     // "2026-11-23": when its values were looked up; "" = not said
  std::string backend{};  // cuda, xpu or none
  LockedBase base{};
  std::vector<LockedBase> other_bases{};  // of the other flavours
  std::vector<LockedRepository> repositories{};
  std::vector<LockedPackage> packages{};
  std::vector<LockedFile> files{};
  std::vector<LockedWheel> wheels{};
  std::optional<LockedHost> host{};
  std::map<std::string, std::string> labels{};
  std::string shm_size{};
  std::vector<std::string> environment{};  // names of variables passed on from the caller
  std::string digest{};                    // SHA-256 of the file

  // One lock for each flavour, with its base, packages, files and wheels and nothing of the others. The first is the one that
  // is meant where nobody names one.
  std::vector<StackLock> flavours() const;

  // The values that the lock does not have: "base.digest", "file.libze1.url", ...
  std::vector<std::string> unknown() const;
};

// `file` stands for the text in messages; its stem is the name of the stack.
Result<StackLock> parse_stack_lock(std::string_view text, const std::string& file);

// DIRECTORY/NAME.toml; for an unknown name, the error suggests the nearest one.
Result<StackLock> read_stack_lock(const std::string& directory, const std::string& name);

// The sorted names of all locks in `directory`. It is a usage error if there are none.
Result<std::vector<std::string>> stack_names(const std::string& directory);

// ---- Embedded locks ----
// The locks of docker/stacks as they were when this program was built: in an image there is no docker/.

// All of them, sorted by name. A unit test reads the embedded text, so that a mistake cannot reach a program
// that runs.
const std::vector<StackLock>& embedded_locks();

// The text of each, docker/stacks/NAME.toml (cmake/ProctorEmbed.cmake).
std::string_view embedded_cpu_sim();
std::string_view embedded_cuda_12();
std::string_view embedded_cuda_13();
std::string_view embedded_xpu_lts();
std::string_view embedded_xpu_rolling();

}  // namespace proctor
