#include "harness/base/find_texts.h"

#include <string.h>

#include <algorithm>
#include <fstream>

#include "harness/base/regular_file.h"

namespace proctor {
namespace {

constexpr std::uint64_t kMostProgram = std::uint64_t{16} << 30;

}  // namespace

Result<std::set<std::string_view>> find_texts(const std::string& path,
                                              const std::vector<std::string_view>& texts,
                                              std::string_view beginning) {
  constexpr std::size_t kBlock = std::size_t{1}
                                 << 16;  // its pages are touched once for each file that is asked about
  std::set<std::string_view> found;
  auto opened = open_file_stream(path, kMostProgram);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  std::size_t longest = 1;
  for (const std::string_view text : texts) longest = std::max(longest, text.size());
  std::vector<char> block(kBlock + longest);
  std::size_t kept = 0;  // of the block before: a text may begin there
  for (bool first = true; file; first = false) {
    file.read(block.data() + kept, static_cast<std::streamsize>(kBlock));
    const std::size_t size = kept + static_cast<std::size_t>(file.gcount());
    if (first && !std::string_view(block.data(), size).starts_with(beginning)) return found;
    for (const std::string_view text : texts) {
      if (!found.contains(text) && memmem(block.data(), size, text.data(), text.size()) != nullptr)
        found.insert(text);
    }
    kept = std::min(longest, size);
    std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(size - kept), kept, block.begin());
  }
  return found;
}

}  // namespace proctor
