// Text that is deflated as it comes, in zlib's format: a page holds its data so, and a runner what has happened. Example:
//
//   DeflatedText deflated(kQuickly);
//   deflated.add("a text");
//   const std::string bytes = deflated.finish();
//   std::string text;
//   inflate(bytes, [&text](std::string_view piece) { text += piece; });
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace proctor {

// Levels of zlib. Of the data of 100,000 cases kSmall makes 5 to 15 % less than kQuickly, and takes twice as long.
inline constexpr int kQuickly = 3;
inline constexpr int kSmall = 6;

class DeflatedText {
 public:
  explicit DeflatedText(int level);
  ~DeflatedText();
  DeflatedText(DeflatedText&&) noexcept;
  DeflatedText& operator=(DeflatedText&&) noexcept;
  DeflatedText(const DeflatedText&) = delete;
  DeflatedText& operator=(const DeflatedText&) = delete;

  void add(std::string_view piece);
  std::size_t taken() const { return taken_; }  // bytes of text so far
  std::size_t held() const {
    return bytes_.capacity();
  }  // bytes of memory for it, besides what zlib always takes
  // All of it. Nothing can be added then.
  std::string finish();

 private:
  struct Stream;

  void deflate_all(std::string_view piece, bool last);

  std::unique_ptr<Stream> stream_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

// The text, in pieces, of what DeflatedText made.
void inflate(std::string_view deflated, const std::function<void(std::string_view piece)>& use);

}  // namespace proctor
