// Opens files that another program can have created: a test, which writes anywhere its user can, or another
// user. A FIFO does not block the opening. Links are refused. Size limits protect memory and disk.
//
// Only the last part of a path is checked. A user who types `proctor-out/latest` means the target of that
// link.
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

// bytes of a record that Proctor writes for itself
inline constexpr std::uint64_t kMostRecord = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMostJournal = 2'000'000'000;  // bytes of the journal of a run
inline constexpr std::uint64_t kAnySize = ~std::uint64_t{0};  // for callers that read piece by piece

// Opens a regular file of at most `most` bytes for reading.
Result<UniqueFd> open_regular(const std::string& path, std::uint64_t most);
// Opens the file as a stream, which stays usable if the name is removed.
Result<std::ifstream> open_regular_stream(const std::string& path, std::uint64_t most);
// Opens a file as a stream. The last part of the path may be a link.
Result<std::ifstream> open_file_stream(const std::string& path, std::uint64_t most);
// Reads the whole file, even if it grows meanwhile, up to `most` bytes.
Result<std::string> read_regular(const std::string& path, std::uint64_t most);

// Creates a new file for writing. An existing entry at the path is removed, unless it is a directory or a
// device.
Result<UniqueFd> create_file(const std::string& path, mode_t mode);
// Creates the directories between `directory` and the file `name` in it. A link or a file in the place of one
// of them is removed, because a link would redirect the write. `directory` must belong to Proctor.
Result<void> make_way(const std::string& directory, const std::string& name);
Result<void> write_new_file(const std::string& path, std::string_view text, mode_t mode = 0644);

// ---- A search for texts ---- The file is read block by block, because an executable can be larger than the
// memory of the runner. Example:
//
//   const auto found = find_texts("/bin/true", {"libcuda.so.1", "libze_loader.so.1"}, "\x7f" "ELF");
//   const bool opens_cuda = found && found->contains("libcuda.so.1");

// Returns those of `texts` that the file contains. Returns none if the file does not begin with `beginning`.
Result<std::set<std::string_view>> find_texts(const std::string& path,
                                              const std::vector<std::string_view>& texts,
                                              std::string_view beginning = {});

}  // namespace proctor
