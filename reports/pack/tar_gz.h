// Regular files in a tar archive (POSIX.1-2017, pax, "ustar Interchange Format"), compressed with gzip (RFC 1952), in
// memory. The archive to read may be hostile: the reader checks its limits before it uses memory, and accepts only
// names of files below the directory of the archive. Example:
//
//   const std::string bytes = write_tar_gz({{"run/journal.jsonl", "{}\n"}}, 0);
//   const auto files = read_tar_gz(bytes);
//   if (!files) std::puts(files.error().what.c_str());  // "the compressed data is damaged"
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// A regular file in an archive.
struct ArchivedFile {
  std::string name{};  // relative, with `/`
  std::string text{};
};

inline constexpr std::size_t kMostArchivedName = 255;
inline constexpr std::size_t kMostArchivedFiles = 20'000;
inline constexpr std::size_t kMostArchivedBytes = std::size_t{256}
                                                  << 20;  // of the archive before compression

// A relative path without `..`, without control characters, and no longer than kMostArchivedName.
bool is_archive_name(std::string_view name);

// `modified`: seconds since 1970, for all files. A name is an is_archive_name() that the format can hold: its directory
// has at most 155 bytes, its last part at most 100. Other files are left out.
std::string write_tar_gz(const std::vector<ArchivedFile>& files, std::int64_t modified);

// Returns the regular files of the archive. An error is an ErrorKind::kDamaged with a sentence about the archive.
Result<std::vector<ArchivedFile>> read_tar_gz(std::string_view bytes, std::size_t most = kMostArchivedBytes);

}  // namespace proctor
