#include "harness/process/line_splitter.h"

#include <algorithm>

namespace proctor {

void LineSplitter::append(std::string_view bytes) {
  const std::size_t room = max_line_ - partial_.size();
  if (bytes.size() > room && !truncated_) {
    truncated_ = true;
    ++too_long_;
  }
  partial_.append(bytes.substr(0, room));
}

void LineSplitter::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    append(bytes.substr(0, newline));
    if (newline == std::string_view::npos) return;
    on_line(partial_);
    partial_.clear();
    truncated_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const std::function<void(std::string_view)>& on_line) {
  if (!partial_.empty()) on_line(partial_);
  partial_.clear();
}

}  // namespace proctor
