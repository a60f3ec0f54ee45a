// Text that is deflated as it comes, and then base64: as a page holds its data.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace proctor {

class DeflatedText {
 public:
  DeflatedText();
  ~DeflatedText();
  DeflatedText(DeflatedText&&) noexcept;
  DeflatedText& operator=(DeflatedText&&) noexcept;
  DeflatedText(const DeflatedText&) = delete;
  DeflatedText& operator=(const DeflatedText&) = delete;

  void add(std::string_view piece);
  std::size_t taken() const { return taken_; }  // bytes of text so far
  // All of it, in zlib's format, as base64. Nothing can be added then.
  std::string finish();

 private:
  struct Stream;

  void deflate_all(std::string_view piece, bool last);

  std::unique_ptr<Stream> stream_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace proctor
