// Where a report goes while it is written: in pieces, so that no writer holds a whole report. Example:
//
//   std::string text;
//   TextOutput output([&](std::string_view piece) { text += piece; });
//   output.pending() += "a part";
//   output.passed();
#pragma once

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

  // What has not been handed over yet. Who adds to it calls passed() now and then.
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

// What `writer(TextOutput&)` writes, whole.
template <typename Writer>
std::string text_of(const Writer& writer) {
  std::string text;
  TextOutput output([&text](std::string_view piece) { text += piece; });
  writer(output);
  output.flush();
  return text;
}

}  // namespace proctor
