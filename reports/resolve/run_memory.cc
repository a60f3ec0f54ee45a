#include "reports/resolve/run_memory.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace proctor {
namespace {

// Passes on each complete line of a text that arrives in pieces.
class WholeLines {
 public:
  template <typename Use>
  void add(std::string_view piece, const Use& use) {
    for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
      line_ += piece.substr(0, end);
      use(line_);
      line_.clear();
      piece.remove_prefix(end + 1);
    }
    line_ += piece;
  }

 private:
  std::string line_;
};

}  // namespace

void RunMemory::on(const Event& event) {
  if (resolver_) return resolver_->on(event);
  std::visit(
      [this](const auto& record) {
        if constexpr (requires { record.at_ms; }) elapsed_ms_ = std::max(elapsed_ms_, record.at_ms);
      },
      event);
  was_stopped_ = was_stopped_ || std::holds_alternative<StopRequested>(event);
  if (const auto* end = std::get_if<AttemptEnded>(&event)) {
    AttemptEnded shown = *end;
    output_.apply(shown);
    records_.add(to_json_line(shown) + '\n');
  } else {
    records_.add(to_json_line(event) + '\n');
  }
}

const ResolvedRun& RunMemory::resolve() {
  if (resolver_) return resolver_->resolve();
  resolver_.emplace();
  WholeLines lines;
  inflate(records_.finish(), [&](std::string_view piece) {
    lines.add(piece, [this](const std::string& line) {
      const auto event = parse_json_line(line);
      if (event && *event) resolver_->on(**event);
    });
  });
  return resolver_->resolve();
}

}  // namespace proctor
