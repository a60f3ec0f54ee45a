// OutsideTools runs external programs: curl downloads, gpgv checks signatures, gzip and xz unpack. Each runs as a child
// with limits. A missing program is a usage error that names it.
//
// image_digest() looks up an image in a container registry (OCI distribution specification, "Checking if content
// exists"; Docker's token authentication).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

struct WebAnswer {
  int status = 0;         // status code of HTTP
  std::string headers{};  // headers of the last response, after redirects
  std::string body{};

  // Returns the value of a header, or "". The case of `name` does not matter.
  std::string header(const std::string& name) const;
};

struct SignedText {
  std::string text;
  std::vector<std::string> signers;  // fingerprints of primary keys
};

class OutsideTools {
 public:
  struct Limits {
    Milliseconds time{120'000};                    // of one download
    std::uint64_t bytes = std::uint64_t{1} << 30;  // limit for one download and for unpacked data
  };

  // Returns an error if curl is not installed.
  static Result<OutsideTools> open(Limits limits, std::vector<std::string> keyrings);
  ~OutsideTools();
  OutsideTools(OutsideTools&& other) noexcept;
  OutsideTools& operator=(OutsideTools&&) = delete;

  Result<WebAnswer> get(const std::string& url, const std::vector<std::string>& headers = {}) const;
  Result<WebAnswer> head(const std::string& url, const std::vector<std::string>& headers = {}) const;

  // Returns the signed part of `text` (OpenPGP, clear-signed) and its signers, verified with the keyrings. Text outside
  // the signed part is left out. It is an error if no signature is valid.
  Result<SignedText> signed_part(const std::string& text) const;

  // Unpacks .gz and .xz, selected by the suffix of `name`. Other bytes are returned unchanged.
  Result<std::string> unpack(const std::string& name, const std::string& bytes) const;

 private:
  OutsideTools(Limits limits, std::vector<std::string> keyrings, std::string directory)
      : limits_(limits), keyrings_(std::move(keyrings)), directory_(std::move(directory)) {}

  Result<WebAnswer> fetch(const std::string& url, const std::vector<std::string>& headers, bool body) const;
  std::string path(const char* name) const { return directory_ + "/" + name; }

  Limits limits_;
  std::vector<std::string> keyrings_;
  std::string directory_;  // contains files for the tools
};

// Returns the keyrings that this system's package manager trusts.
std::vector<std::string> keyrings_of_this_system();

struct ImageName {
  std::string registry{};  // "https://registry-1.docker.io"
  std::string repository{};
  std::string tag{};
};

// Parses "ubuntu:24.04", "nvidia/cuda:13.0.2-devel" or "ghcr.io/a/b:1". As in Docker, a registry on this machine is
// used without TLS.
ImageName parse_image_name(const std::string& image);

// Returns the digest of `reference`, a tag or a digest; "" if the registry has no such image.
Result<std::string> image_digest(const ImageName& image, const std::string& reference,
                                 const OutsideTools& tools);

}  // namespace proctor
