// Deflates and inflates text in zlib's format, piece by piece. A page stores its data like this, and a runner its
// records. Example:
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

// Levels of zlib. For the data of 100,000 cases, the result of kSmall is 5 to 15 % smaller than that of kQuickly, and
// takes twice as long.
inline constexpr int kQuickly = 3;
inline constexpr int kSmall = 6;

// A text that is deflated while it is appended.
class DeflatedText {
 public:
  explicit DeflatedText(int level);
  ~DeflatedText();
  DeflatedText(DeflatedText&&) noexcept;
  DeflatedText& operator=(DeflatedText&&) noexcept;
  DeflatedText(const DeflatedText&) = delete;
  DeflatedText& operator=(const DeflatedText&) = delete;

  void add(std::string_view piece);
  std::size_t taken() const { return taken_; }  // bytes of text that were added
  // Returns the bytes of memory for the deflated text, without zlib's fixed memory.
  std::size_t held() const { return bytes_.capacity(); }
  // Returns the complete deflated text. Nothing can be added afterwards.
  std::string finish();

 private:
  struct Stream;

  void deflate_all(std::string_view piece, bool last);

  std::unique_ptr<Stream> stream_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

// Passes the original text of a DeflatedText to `use`, in pieces.
void inflate(std::string_view deflated, const std::function<void(std::string_view piece)>& use);

}  // namespace proctor
