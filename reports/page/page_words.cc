#include "reports/page/page_words.h"

#include <fmt/format.h>

#include <array>

namespace proctor {
namespace {

constexpr std::array kWords = {
#define PAGE_WORD(name, ...) words::name,
#include "reports/page/words.def"
#undef PAGE_WORD
};

}  // namespace

std::span<const PageWord> all_words() { return kWords; }

std::string counted(std::size_t count, const PageWord& word) {
  return fmt::format(fmt::runtime(plural(count, word.one, word.several)), thousands(count));
}

}  // namespace proctor
