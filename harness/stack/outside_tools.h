// Programs of others that work for us: curl downloads, gpgv checks signatures, gzip and xz unpack. Each is a
// child with limits; one that is not installed is a usage error that names it.
//
// What a registry of container images says about a name (OCI distribution specification, "Checking if content
// exists"; Docker's token authentication).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"

namespace proctor {

struct WebAnswer {
  int status = 0;         // HTTP's
  std::string headers{};  // of the last answer, after redirects
  std::string body{};

  // The value of a header, whose name may be in upper or lower case. "" if there is no such header.
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
    std::uint64_t bytes = std::uint64_t{1} << 30;  // of one download, and of the unpacked data
  };

  // An error if curl is not installed.
  static Result<OutsideTools> open(Limits limits, std::vector<std::string> keyrings);
  ~OutsideTools();
  OutsideTools(OutsideTools&& other) noexcept;
  OutsideTools& operator=(OutsideTools&&) = delete;

  Result<WebAnswer> get(const std::string& url, const std::vector<std::string>& headers = {}) const;
  Result<WebAnswer> head(const std::string& url, const std::vector<std::string>& headers = {}) const;

  // The part of `text` that is signed (OpenPGP, clear-signed) and by whom, checked with the keyrings. Text
  // before or after the signed part is left out. An error if no signature is good.
  Result<SignedText> signed_part(const std::string& text) const;

  // Unpacks by the ending of `name`: .gz or .xz. Other bytes are returned as they are.
  Result<std::string> unpack(const std::string& name, const std::string& bytes) const;

 private:
  OutsideTools(Limits limits, std::vector<std::string> keyrings, std::string directory)
      : limits_(limits), keyrings_(std::move(keyrings)), directory_(std::move(directory)) {}

  Result<WebAnswer> fetch(const std::string& url, const std::vector<std::string>& headers, bool body) const;
  std::string path(const char* name) const { return directory_ + "/" + name; }

  Limits limits_;
  std::vector<std::string> keyrings_;
  std::string directory_;  // for files that the children and we exchange
};

// The keyrings that this system's own package manager trusts.
std::vector<std::string> keyrings_of_this_system();

struct ImageName {
  std::string registry{};  // "https://registry-1.docker.io"
  std::string repository{};
  std::string tag{};
};

// "ubuntu:24.04", "nvidia/cuda:13.0.2-devel", "ghcr.io/a/b:1"; a registry on this machine is asked without
// TLS, as Docker does.
ImageName parse_image_name(const std::string& image);

// The digest behind `reference`, a tag or a digest; "" if the registry has no such image.
Result<std::string> image_digest(const ImageName& image, const std::string& reference,
                                 const OutsideTools& tools);

}  // namespace proctor
