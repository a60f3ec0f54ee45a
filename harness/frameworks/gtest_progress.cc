#include "harness/frameworks/gtest_progress.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/frameworks/gtest_results.h"

namespace proctor {
namespace {

constexpr std::string_view kBegin = "[ RUN      ] ";
constexpr std::string_view kFailed = "[  FAILED  ] ";
constexpr std::string_view kEnds[] = {"[       OK ] ", kFailed, "[  SKIPPED ] "};
constexpr std::string_view kSummary = "[==========] ";
constexpr std::string_view kAllRan = " ran.";

// Returns the text after `mark`.
std::optional<std::string_view> behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.rfind(mark);
  return at == line.npos ? std::nullopt : std::optional(line.substr(at + mark.size()));
}

class GtestProgress final : public ProgressReader {
 public:
  using What = ProgressStep::What;

  ProgressStep read(std::string_view text) override {
    if (text.find('\x1b') == text.npos) return read_plain(text);  // may contain colours
    return read_plain(clean_text(text));
  }

  bool failed_outside() const override { return failed_outside_; }

  std::vector<std::string> translate(std::string_view file) const override {
    return report_gtest_results(file, [this](const std::string& name) {
      const auto words = skip_words_.find(name);
      if (words != skip_words_.end()) return words->second;
      return any_began_ ? std::string() : words_outside_;
    });
  }

 private:
  ProgressStep read_plain(std::string_view line) {
    if (std::exchange(skip_follows_, false))
      (open_.empty() ? words_outside_ : skip_words_[open_.back()]) = line;
    if (const auto name = behind(line, kBegin)) {
      any_began_ = true;
      return {What::kBegin, open_.emplace_back(*name)};
    }
    for (const std::string_view mark : kEnds) {
      if (const auto rest = behind(line, mark)) return read_end(*rest, mark == kFailed);
    }
    if (line.starts_with(kSummary) && line.find(kAllRan) != line.npos) return {What::kAllEnded, {}};
    skip_follows_ = line.ends_with(": Skipped");
    failed_outside_ = failed_outside_ || (open_.empty() && line.ends_with(": Failure"));
    return {};
  }

  // Reads the end of a test. It also ends tests of another program that ran inside of this one. A failed test
  // is named twice: after it ran, and in the summary.
  ProgressStep read_end(std::string_view rest, bool failed) {
    const auto is_name = [&](const std::string& name) {
      return rest.starts_with(name) &&
             (rest.size() == name.size() || rest.substr(name.size()).starts_with(" (") ||
              rest.substr(name.size()).starts_with(", where "));
    };
    const auto open = std::find_if(open_.rbegin(), open_.rend(), is_name);
    if (open == open_.rend() && !failed) return {};
    std::string name(rest.substr(0, std::min(rest.find(" ("), rest.find(", where "))));
    if (open != open_.rend()) {
      name = *open;
      open_.erase(open.base() - 1, open_.end());
    }
    return {failed ? What::kFailed : What::kEnd, std::move(name)};
  }

  std::vector<std::string> open_;  // tests without an end so far
  bool any_began_ = false;
  bool skip_follows_ = false;
  bool failed_outside_ = false;
  std::map<std::string, std::string> skip_words_;
  std::string words_outside_;  // reason of a skip by an environment
};

}  // namespace

std::unique_ptr<ProgressReader> gtest_progress() { return std::make_unique<GtestProgress>(); }

}  // namespace proctor
