// Programs of others that work for us: curl downloads, gpgv checks signatures, gzip and xz unpack. Each is a
// child with limits; one that is not installed is a usage error that names it.
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

}  // namespace proctor
