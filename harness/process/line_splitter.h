// Splits a byte stream into lines of limited length. A longer line is truncated, delivered and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace proctor {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  void feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line);
  // Delivers the last line if it has no newline.
  void finish(const std::function<void(std::string_view)>& on_line);
  // The bytes of a line that has not ended yet.
  std::string_view partial() const { return partial_; }
  std::uint64_t too_long() const { return too_long_; }

 private:
  void append(std::string_view bytes);

  std::size_t max_line_;
  std::string partial_;
  bool truncated_ = false;
  std::uint64_t too_long_ = 0;
};

}  // namespace proctor
