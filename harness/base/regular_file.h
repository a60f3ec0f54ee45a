// How we open what somebody else may have made: a test, which writes wherever its user does, or another user. Nothing
// that stands there blocks the opening, as a FIFO does; no link leads it elsewhere; no size fills memory or a disk.
//
// Only the last part of a path is guarded: who types `proctor-out/latest` means where that link leads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

inline constexpr std::uint64_t kMostRecord = std::uint64_t{1} << 20;  // what we write for ourselves
inline constexpr std::uint64_t kMostJournal = 2'000'000'000;          // of a run
inline constexpr std::uint64_t kAnySize = ~std::uint64_t{0};          // for who keeps a piece at a time

// For reading. It must be a regular file of at most `most` bytes.
Result<UniqueFd> open_regular(const std::string& path, std::uint64_t most);
// The same as a stream, which stays usable when the name goes away.
Result<std::ifstream> open_regular_stream(const std::string& path, std::uint64_t most);
// The last part of the path may be a link.
Result<std::ifstream> open_file_stream(const std::string& path, std::uint64_t most);
// All of it, also if it grows meanwhile: then up to `most`.
Result<std::string> read_regular(const std::string& path, std::uint64_t most);

// For writing, a file that is new: whatever stood there is removed, unless it is a directory or a device.
Result<UniqueFd> create_file(const std::string& path, mode_t mode);
// Before that, for a file `name` below a directory of ours: those between them, where there is none. A link or a file that
// stands for one is removed, as it would lead what is written there elsewhere.
Result<void> make_way(const std::string& directory, const std::string& name);
Result<void> write_new_file(const std::string& path, std::string_view text, mode_t mode = 0644);

// ---- A search for texts ----
// The file is read block by block: an executable may be larger than what the runner may hold. Example:
//
//   const auto found = find_texts("/bin/true", {"libcuda.so.1", "libze_loader.so.1"}, "\x7f" "ELF");
//   const bool opens_cuda = found && found->contains("libcuda.so.1");

// None of them in a file that does not begin with `beginning`.
Result<std::set<std::string_view>> find_texts(const std::string& path,
                                              const std::vector<std::string_view>& texts,
                                              std::string_view beginning = {});

}  // namespace proctor
