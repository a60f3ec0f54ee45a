#include "harness/frameworks/gtest_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/frameworks/gtest_results.h"

namespace proctor {
namespace {

constexpr std::string_view kVersion = "gtest_streaming_protocol_version=1.0";
constexpr std::string_view kEvent = "event=";
constexpr std::size_t kMostParts = 1000;   // of one test; a loop must not fill the runner's memory
constexpr std::size_t kShownOfLine = 100;  // in a doubt

// The text between `key` and `end` or the end of the line.
std::optional<std::string_view> between(std::string_view line, std::string_view key, std::string_view end) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  return end.empty() ? line : line.substr(0, line.find(end));
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

struct Part {
  std::string file;
  int line = 0;
  std::string message;

  // SUCCEED() (googletest#3994).
  bool is_success() const { return message == "Succeeded" || message.starts_with("Succeeded\n"); }
  std::string event() const {
    nlohmann::json fields = {{"message", message}};
    if (!file.empty()) fields.update({{"file", file}, {"line", line}});
    return event_line("fail", std::move(fields));
  }
};

Part part_of(std::string_view line) {
  Part part;
  part.file = decoded(between(line, "&file=", "&").value_or(""));
  const auto number = written_count(decoded(between(line, "&line=", "&").value_or("")));
  part.line = number && *number > 0 && *number <= INT_MAX ? static_cast<int>(*number) : 0;
  part.message = decoded(between(line, "&message=", "").value_or(""));
  return part;
}

class GtestStream final : public Testimony {
 public:
  bool tells_of_cases(std::string_view line) const override { return line != kVersion; }

  std::vector<std::string> translate(std::string_view text) override {
    if (!doubt_.empty()) return {};
    if (!text.ends_with('\n')) return doubt("the line `{}` has no end", text);
    text.remove_suffix(1);
    if (!has_version_) {
      has_version_ = text == kVersion;
      return has_version_ ? Lines() : doubt("`{}` is not the version of the stream", text);
    }
    if (!text.starts_with(kEvent) || is_complete_) return doubt("`{}` was not expected", text);
    const std::string_view event = text.substr(kEvent.size());
    const auto is = [&](std::string_view name) {
      return event.starts_with(name) && (event.size() == name.size() || event[name.size()] == '&');
    };
    if (is("TestCaseStart")) return begin_group(text);
    if (is("TestCaseEnd")) return end_group(text);
    if (is("TestStart")) return begin(text);
    if (is("TestEnd")) return end(text);
    if (is("TestPartResult")) return take(part_of(text));
    if (is("TestIterationStart") && !event.ends_with("&iteration=0"))
      return doubt("`{}` repeats its tests", text);
    if (is("TestProgramEnd")) return end_program(text);
    return {};
  }

  std::string doubt() const override { return doubt_; }
  bool is_complete() const override { return is_complete_; }
  bool is_unclear(const std::string& name) const override {
    return program_is_unclear_ || unclear_groups_.contains(name.substr(0, name.rfind('.')));
  }
  std::vector<std::string> translate_file(std::string_view text) const override {
    return tell_gtest_results(text, [this](const std::string& name) {
      const auto words = last_words_.find(name);
      return words == last_words_.end() ? words_of_program_ : words->second;
    });
  }

 private:
  using Lines = std::vector<std::string>;

  Lines doubt(fmt::format_string<std::string&> format, std::string_view line) {
    std::string shown = clean_text(line.substr(0, kShownOfLine));
    doubt_ = fmt::format(format, shown);
    return {};
  }

  Lines begin_group(std::string_view line) {
    if (!group_.empty()) return doubt("`{}` came before the end of another group", line);
    group_ = between(line, "&name=", "").value_or("");
    return group_.empty() ? doubt("`{}` has no name", line) : Lines();
  }

  Lines end_group(std::string_view line) {
    if (group_.empty() || !open_.empty()) return doubt("`{}` came before the end of a test", line);
    group_.clear();
    return {};
  }

  Lines begin(std::string_view line) {
    const std::string_view name = between(line, "&name=", "").value_or("");
    if (!open_.empty()) return doubt("`{}` came before the end of another test", line);
    if (group_.empty() || name.empty()) return doubt("`{}` has no group or no name", line);
    open_ = fmt::format("{}.{}", group_, name);
    if (!begun_.insert(open_).second) return doubt("`{}` came twice", line);
    parts_ = 0;
    return {event_line("start", {{"case", open_}})};
  }

  // While it is not known what it is, it is told as a failure of a test that may crash before its end.
  Lines take(const Part& part) {
    if (open_.empty()) {
      if (part.is_success()) return {};
      if (!group_.empty()) unclear_groups_.insert(group_);
      if (group_.empty()) words_of_program_ = part.message;
      program_is_unclear_ = program_is_unclear_ || group_.empty();
      return {};
    }
    if (part.is_success()) return {};
    last_words_[open_] = part.message;
    return ++parts_ <= kMostParts ? Lines{part.event()} : Lines();
  }

  Lines end(std::string_view line) {
    const auto passed = between(line, "&passed=", "&");
    if (open_.empty()) return doubt("`{}` came without its begin", line);
    if (passed != "0" && passed != "1") return doubt("`{}` does not say whether it passed", line);
    if (passed == "1") last_words_.erase(open_);
    const std::string name = std::exchange(open_, {});
    return {event_line("end", {{"case", name}, {"result", passed == "1" ? "pass" : "fail"}})};
  }

  Lines end_program(std::string_view line) {
    if (!open_.empty()) return doubt("`{}` came before the end of a test", line);
    is_complete_ = true;
    return {};
  }

  bool has_version_ = false;
  bool is_complete_ = false;
  std::string doubt_;
  std::string group_;  // "": none is open
  std::string open_;   // the test that has begun, with its group
  std::size_t parts_ = 0;
  std::set<std::string> begun_;
  std::set<std::string> unclear_groups_;
  bool program_is_unclear_ = false;
  std::string words_of_program_;                   // what was told outside of all groups
  std::map<std::string, std::string> last_words_;  // of tests that did not pass
};

}  // namespace

std::unique_ptr<Testimony> gtest_stream() { return std::make_unique<GtestStream>(); }

}  // namespace proctor
