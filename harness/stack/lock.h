// StackLock is the description of a driver stack: docker/stacks/NAME.toml lists the base image, packages and files of
// its images (docs/how-to/stacks.md). parse_stack_lock() refuses values that are not pinned, unless their entry is
// `unverified`. An unverified entry may lack a value. The rendered Dockerfile then has a build argument for it; the
// value is never guessed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr const char* kBaseFlavour = "base";    // can run programs
inline constexpr const char* kDevelFlavour = "devel";  // can also compile programs

struct LockedBase {
  std::string flavour{};                // kBaseFlavour, kDevelFlavour; "": the lock has no flavours
  std::string image{};                  // "ubuntu:24.04", only for readers
  std::optional<std::string> digest{};  // "sha256:...", selects the image
  std::string source{};                 // source and date of the digest, only for readers
  bool unverified = false;
};

struct LockedRepository {
  std::string name{};
  std::string url{};       // with {snapshot} for the date
  std::string snapshot{};  // "20261120T000000Z"; "": the repository has no dates and keeps old versions
  std::vector<std::string> suites{};
  std::vector<std::string> components{};
  std::optional<std::string> key{};  // fingerprint of the signing key, 40 hex digits
  // Address of the key if the base image lacks it. Other keys in the file are not trusted.
  std::optional<std::string> key_url{};
  std::string source{};
  bool unverified = false;

  std::string url_at_snapshot() const;
};

// A Debian package from a repository.
struct LockedPackage {
  std::string name{};
  std::string version{};
  std::string source{};
  std::string flavour{};  // flavour of the images with the package; "": all
  bool unverified = false;
};

// A Python package, which pip fetches from an index by hash.
struct LockedWheel {
  std::string name{};
  std::string version{};
  std::vector<std::string> sha256{};  // hashes of the permitted files; one of them fits the image's Python
  std::string source{};
  std::string flavour{};
  bool unverified = false;
};

// A Debian package from a URL.
struct LockedFile {
  std::string name{};     // name of the package
  std::string version{};  // version in dpkg after installation; if `url` is unknown, only the release
  std::optional<std::string> url{};
  std::optional<std::string> sha256{};
  std::string source{};
  std::string flavour{};  // as in LockedPackage
  bool unverified = false;
};

// The driver that the host must provide, because an image cannot contain it.
struct LockedHost {
  std::string driver{};   // "nvidia"
  std::string minimum{};  // "580"
  std::string source{};
};

struct StackLock {
  std::string name{};
  std::string title{};
  std::string date{};     // "2026-11-23": day when the values were looked up; "": unknown
  std::string backend{};  // cuda, xpu or none
  LockedBase base{};
  std::vector<LockedBase> other_bases{};  // bases of the other flavours
  std::vector<LockedRepository> repositories{};
  std::vector<LockedPackage> packages{};
  std::vector<LockedFile> files{};
  std::vector<LockedWheel> wheels{};
  std::optional<LockedHost> host{};
  std::map<std::string, std::string> labels{};
  std::string shm_size{};
  std::vector<std::string> environment{};  // names of variables passed from the caller's environment
  std::string digest{};                    // SHA-256 of the file

  // Returns one lock per flavour, with only its base, packages, files and wheels. The first flavour is the default.
  std::vector<StackLock> flavours() const;

  // Returns the names of missing values: "base.digest", "file.libze1.url", ...
  std::vector<std::string> unknown() const;
};

// `file` is the name of the text in error messages. Its stem is the name of the stack.
Result<StackLock> parse_stack_lock(std::string_view text, const std::string& file);

// Reads DIRECTORY/NAME.toml. For an unknown name, the error suggests the nearest one.
Result<StackLock> read_stack_lock(const std::string& directory, const std::string& name);

// Returns the sorted names of all locks in `directory`. It is a usage error if there are none.
Result<std::vector<std::string>> stack_names(const std::string& directory);

// ---- Embedded locks ----
// The locks of docker/stacks at build time, because an image does not contain docker/.

// Returns all locks, sorted by name. A unit test parses the embedded text, so it is valid in a released program.
const std::vector<StackLock>& embedded_locks();

// Return the text of docker/stacks/NAME.toml (cmake/ProctorEmbed.cmake).
std::string_view embedded_cpu_sim();
std::string_view embedded_cuda_12();
std::string_view embedded_cuda_13();
std::string_view embedded_xpu_lts();
std::string_view embedded_xpu_rolling();

}  // namespace proctor
