// A driver stack as a value: docker/stacks/NAME.toml says which base image, which packages and which files
// make it (docs/stacks.md). What is not pinned is refused, unless it says that nobody has verified it yet;
// such a value may be missing, and then it is nowhere guessed: the rendered Dockerfile asks for it.
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
  std::optional<std::string> digest{};  // "sha256:...": what is built upon
  bool unverified = false;
};

struct LockedRepository {
  std::string name{};
  std::string url{};       // with {snapshot} where the date belongs
  std::string snapshot{};  // "20261120T000000Z"
  std::vector<std::string> suites{};
  std::vector<std::string> components{};
  std::optional<std::string> key{};  // fingerprint of the key that signs it, 40 hex digits
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
      version{};  // as dpkg must report it once it is installed; of the release if the file is unknown
  std::optional<std::string> url{};
  std::optional<std::string> sha256{};
  bool unverified = false;
};

// What the image cannot bring along.
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
  std::vector<std::string> environment{};  // names handed through from the caller
  std::string digest{};                    // SHA-256 of the file

  // What the lock does not know: "base.digest", "file.libze1.url", ...
  std::vector<std::string> unknown() const;
};

// `file` stands for the text in messages; its stem is the name of the stack.
Result<StackLock> parse_stack_lock(std::string_view text, const std::string& file);

// DIRECTORY/NAME.toml; an unknown name is answered with the nearest.
Result<StackLock> read_stack_lock(const std::string& directory, const std::string& name);

// The names of all locks in `directory`, sorted; none is a usage error.
Result<std::vector<std::string>> stack_names(const std::string& directory);

}  // namespace proctor
