// The output of a report writer. It passes the text on in pieces, so that no writer holds a complete report. Example:
//
//   std::string text;
//   TextOutput output([&](std::string_view piece) { text += piece; });
//   output.pending() += "a part";
//   output.passed();
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace proctor {

class TextOutput {
 public:
  using Write = std::function<void(std::string_view piece)>;

  explicit TextOutput(Write write) : write_(std::move(write)) {}
  ~TextOutput() { flush(); }
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  // The text that is not yet passed on. Writers append to it, and call passed() regularly.
  std::string& pending() { return pending_; }
  void passed() {
    if (pending_.size() >= kPiece) flush();
  }
  void flush() {
    if (!pending_.empty()) write_(pending_);
    pending_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  Write write_;
  std::string pending_;
};

// Returns whether a text is printable ASCII without any of the characters `kMarks`, so that it needs no escaping. This
// is the usual case. It reads eight bytes at a time, because reports call it for every text.
template <char... kMarks>
bool stands_for_itself(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = kOnes << 7;
  // The result has the high bit of a byte set if a byte is below `limit`. If no byte is below it, no high bit is set.
  const auto below = [](std::uint64_t bytes, std::uint64_t limit) {
    return (bytes - kOnes * limit) & ~bytes;
  };
  const auto is_plain = [&below](std::uint64_t bytes) {
    const std::uint64_t odd = bytes | below(bytes, ' ') | below(bytes ^ kOnes * 0x7f, 1) |
                              (std::uint64_t{0} | ... | below(bytes ^ kOnes * std::uint64_t{kMarks}, 1));
    return (odd & kHigh) == 0;
  };
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    if (!is_plain(bytes)) return false;
  }
  std::uint64_t rest = kOnes * ' ';
  for (const char c : text) rest = rest << 8 | static_cast<unsigned char>(c);
  return is_plain(rest);
}

// Returns the complete text that `writer(TextOutput&)` writes.
template <typename Writer>
std::string text_of(const Writer& writer) {
  std::string text;
  TextOutput output([&text](std::string_view piece) { text += piece; });
  writer(output);
  output.flush();
  return text;
}

}  // namespace proctor
