// A driver stack as a value: docker/stacks/NAME.toml says which base image, which packages and which files
// make it (docs/stacks.md). A value that is not pinned is refused, unless the lock says that nobody has
// verified it yet. Such a value may be missing; it is then never guessed, but the rendered Dockerfile asks
// for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"

namespace proctor {

struct LockedBase {
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
};

// A Debian package taken by URL.
struct LockedFile {
  std::string name{};  // of the package
  std::string
      version{};  // as dpkg must report it once it is installed; that of the release if the file is unknown
  std::optional<std::string> url{};
  std::optional<std::string> sha256{};
  std::string source{};
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
  std::string backend{};  // cuda, xpu or none
  LockedBase base{};
  std::vector<LockedRepository> repositories{};
  std::vector<LockedPackage> packages{};
  std::vector<LockedFile> files{};
  std::optional<LockedHost> host{};
  std::map<std::string, std::string> labels{};
  std::string shm_size{};
  std::vector<std::string> environment{};  // names of variables passed on from the caller
  std::string digest{};                    // SHA-256 of the file

  // The values that the lock does not have: "base.digest", "file.libze1.url", ...
  std::vector<std::string> unknown() const;
};

// `file` stands for the text in messages; its stem is the name of the stack.
Result<StackLock> parse_stack_lock(std::string_view text, const std::string& file);

// DIRECTORY/NAME.toml; for an unknown name, the error suggests the nearest one.
Result<StackLock> read_stack_lock(const std::string& directory, const std::string& name);

// The sorted names of all locks in `directory`. It is a usage error if there are none.
Result<std::vector<std::string>> stack_names(const std::string& directory);

}  // namespace proctor
