#include "harness/frameworks/gtest_results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "harness/base/json.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/foreign_json.h"

namespace proctor {

using nlohmann::json;

const json& array_of(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kEmpty;
}

namespace {

// Returns the event of one failure. Its text starts with "FILE:LINE\n", or with "unknown file\n" for an
// exception.
std::string failure_line(const std::string& text) {
  constexpr std::string_view kNoPlace = "unknown file\n";
  if (text.starts_with(kNoPlace)) return event_line("fail", {{"message", text.substr(kNoPlace.size())}});
  const auto end_of_line = text.find('\n');
  const auto colon = text.rfind(':', end_of_line);
  if (end_of_line == std::string::npos || colon == std::string::npos || colon == 0)
    return event_line("fail", {{"message", text}});
  const auto line = written_count(std::string_view(text).substr(colon + 1, end_of_line - colon - 1));
  if (!line) return event_line("fail", {{"message", text}});
  return event_line(
      "fail", {{"file", text.substr(0, colon)}, {"line", *line}, {"message", text.substr(end_of_line + 1)}});
}

// Reads parts of the output that the file of 1.12 lacks: the reasons of skips, and failures outside of all
// tests, such as those of SetUpTestSuite(). It reads the text once.
//
//   file.cc:12: Failure
//   Expected equality of these values:
//     ...
//   [ RUN      ] Suite.Name
//   file.cc:69: Skipped
//   no such card
//   [  SKIPPED ] Suite.Name (0 ms)      GTEST_PRINT_TIME=0: without the time
//
// A test may print the output of another GoogleTest program, with its own marks. Lines between those marks do
// not belong to the test.
class PrintedWords {
 public:
  explicit PrintedWords(std::string_view printed) : text_(clean_text(printed)) {  // removes colours
    std::string_view rest = text_;
    while (!rest.empty()) read(take_line(rest), rest);
  }
  PrintedWords(const PrintedWords&) = delete;  // its members point into its text
  PrintedWords& operator=(const PrintedWords&) = delete;

  const std::vector<std::string>& failures_outside() const { return failures_; }  // event lines

  std::string of_skip(const std::string& test) const {
    const auto known = words_.find(test);
    if (known != words_.end()) return std::string(known->second);
    // If an environment skips all tests, the output has no marks.
    return marked_ ? std::string() : std::string(open_.front().words.value_or(""));
  }

 private:
  struct Open {
    std::string_view name;
    std::optional<std::string_view> words = {};
  };

  static std::string_view take_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    return line;
  }

  void read(std::string_view line, std::string_view rest) {
    constexpr std::string_view kRun = "[ RUN      ] ";
    constexpr std::string_view kFailure = ": Failure";
    if (open_.size() == 1 && line.ends_with(kFailure))
      failures_.push_back(
          failure_line(std::string(line.substr(0, line.size() - kFailure.size())) + "\n" + message_in(rest)));
    if (line.ends_with(": Skipped")) open_.back().words = rest.substr(0, rest.find('\n'));
    if (const std::size_t at = line.rfind(kRun); at != line.npos) {
      marked_ = true;
      open_.push_back({line.substr(at + kRun.size())});
    }
    for (const std::string_view mark : {"[  SKIPPED ] ", "[       OK ] ", "[  FAILED  ] "}) {
      // The last output of the test may lack its end of line.
      if (const std::size_t at = line.rfind(mark); at != line.npos) return end(line.substr(at + mark.size()));
    }
    in_summary_ = false;
  }

  // Returns the text up to the next line that GoogleTest begins.
  static std::string message_in(std::string_view rest) {
    std::string message;
    while (!rest.empty()) {
      const std::string_view line = take_line(rest);
      const bool is_next = line.starts_with("[ ") || line.starts_with("[--") || line.starts_with("[==") ||
                           line.ends_with(": Failure") || line.ends_with(": Skipped");
      if (is_next) break;
      message += (message.empty() ? "" : "\n") + std::string(line);
    }
    return std::string(trimmed(message));
  }

  void end(std::string_view what) {
    in_summary_ = in_summary_ || what.ends_with(", listed below:");
    if (in_summary_) return;
    const std::string_view name = what.substr(0, std::min(what.find(" ("), what.find(", where ")));
    const auto same =
        std::find_if(open_.rbegin(), open_.rend() - 1, [&](const Open& o) { return o.name == name; });
    // If the test has no beginning, its mark was lost, and only its own reason counts.
    const auto first = same.base() - 1;
    std::string_view words;
    for (auto open = first; open != open_.end(); ++open) words = open->words.value_or(words);
    words_.insert_or_assign(name, words);
    open_.erase(first, open_.end());
    if (open_.empty()) open_.emplace_back();
    marked_ = true;
  }

  const std::string text_;
  // The tests without an end so far. The first element is for lines outside of all tests.
  std::vector<Open> open_ = std::vector<Open>(1);
  std::map<std::string_view, std::string_view> words_;
  std::vector<std::string> failures_;
  bool marked_ = false;      // a test has begun or ended
  bool in_summary_ = false;  // in the list of names at the end, which belongs to no test
};

// Returns the reason of a skip in the file of later versions, which follows the place: "FILE:LINE\nWORDS".
std::string written_skip(const json& test) {
  for (const auto& entry : array_of(test, "skipped")) {
    const std::string text = text_at(entry, "message");
    return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return {};
}

// Returns true if an environment skipped the test before it began. GoogleTest still reports such a test as
// completed, with a start at second 0 of its clock in local time.
bool never_began(const json& test) {
  std::string start = text_at(test, "timestamp");
  // removes thousands separators: "1.970-01-01T"
  std::erase_if(start, [](char c) { return c == '.' || c == ','; });
  return text_at(test, "result") == "COMPLETED" &&
         (start.starts_with("1970-01-01T") || start.starts_with("1969-12-31T"));
}

// Parses "0.012s", "0s", "0,012s".
std::int64_t milliseconds_in(std::string_view time) {
  if (time.ends_with('s')) time.remove_suffix(1);
  NumberForm form;
  form.see(time);
  const auto seconds = form.figure(time);
  return seconds && *seconds < 1e12 ? std::llround(*seconds * 1000) : 0;
}

// The content of a whole result file.
struct Results {
  struct Test {
    std::string name;  // "Group.Name"
    bool skipped = false;
    std::string skip_words = {};
    std::int64_t took_ms = 0;
    std::vector<std::string> recorded = {};  // event lines, as in the next member
    std::vector<std::string> failures = {};
    // Failures outside of the test, for people: the exit code already reports the failure.
    std::vector<std::string> printed = {};
  };
  std::vector<Test> ran;
  // Event lines of failures outside of all tests, and of groups without any test that ran.
  std::vector<std::string> failures;
};

void add_failures(const json& holder, std::vector<std::string>& lines) {
  for (const auto& entry : array_of(holder, "failures")) {
    if (entry.is_object()) lines.push_back(failure_line(text_at(entry, "failure")));
  }
}

// Returns the values of RecordProperty(), which have other keys than GoogleTest's own: as text, and as a
// figure if it is a number.
std::vector<std::string> properties_of(const json& test) {
  static const std::set<std::string> kOwn = {"name",     "file",        "line",       "status",
                                             "result",   "timestamp",   "time",       "classname",
                                             "failures", "value_param", "type_param", "skipped"};
  std::vector<std::string> lines;
  for (const auto& [name, value] : test.items()) {
    if (kOwn.contains(name) || !value.is_string()) continue;
    const std::string text = value.get<std::string>();
    lines.push_back(event_line("property", {{"name", name}, {"value", text}}));
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number))
      lines.push_back(event_line("measure", {{"name", name}, {"value", number}}));
  }
  return lines;
}

// Adds a comma that GoogleTest 1.12 omits before the group of failures outside of its tests. No string
// contains a line break.
std::string with_comma(std::string text) {
  constexpr std::string_view kForgotten = "\n    }    {\n";
  const std::size_t at = text.find(kForgotten);
  if (at != std::string::npos) text.insert(text.find('}', at) + 1, ",");
  return text;
}

// Decodes a sequence of escapes such as `\u00C3\u00B6` at `at` if its bytes are valid UTF-8. Otherwise
// returns the escapes. Moves `at` to the end of the sequence.
std::string bytes_of_escapes(std::string_view text, std::size_t& at) {
  constexpr std::size_t kEscape = 6;
  std::string bytes;
  const std::size_t begin = at;
  for (; text.substr(at).starts_with("\\u00"); at += kEscape) {
    unsigned char byte = 0;
    const std::string_view digits = text.substr(at + 4, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2 || byte < 0x80) break;
    bytes += static_cast<char>(byte);
  }
  if (at == begin) at += 1;
  if (!bytes.empty() && clean_text(bytes) == bytes) return bytes;
  return std::string(text.substr(begin, at - begin));
}

// Restores UTF-8 text. If char is signed, GoogleTest up to 1.17 escapes each byte of UTF-8 as a character
// (googletest#5081). It has no other escapes from \u0080 on.
std::string with_bytes(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      const std::size_t end = std::min(text.find('\\', at), text.size());
      result += text.substr(at, end - at);
      at = end;
    } else if (text.substr(at).starts_with("\\u00")) {
      result += bytes_of_escapes(text, at);
    } else {
      result += text.substr(at, 2);  // includes an escaped backslash
      at += 2;
    }
  }
  return result;
}

std::optional<Results> read_results(std::string_view text) {
  const json report = parse_gtest_json(text);
  if (!report.is_object() || !report.contains("testsuites") || !report["testsuites"].is_array()) return {};
  Results results;
  for (const auto& group : report["testsuites"]) {
    const std::size_t before = results.ran.size();
    for (const auto& test : array_of(group, "testsuite")) {
      if (text_at(test, "name").empty()) {  // a failure outside of all tests, in the setup of an environment
        add_failures(test, results.failures);
        continue;
      }
      if (text_at(test, "status") != "RUN") continue;
      const bool skipped = text_at(test, "result") == "SKIPPED" || never_began(test);
      results.ran.push_back({text_at(group, "name") + "." + text_at(test, "name"), skipped});
      results.ran.back().recorded = properties_of(test);
      results.ran.back().skip_words = written_skip(test);
      results.ran.back().took_ms = milliseconds_in(text_at(test, "time"));
      add_failures(group, results.ran.back().failures);
      add_failures(test, results.ran.back().failures);
    }
    if (results.ran.size() == before) add_failures(group, results.failures);
  }
  return results;
}

std::vector<std::string> report_each(const Results& results) {
  std::vector<std::string> lines;
  for (const auto& test : results.ran) {
    lines.push_back(event_line("start", {{"case", test.name}}));
    lines.insert(lines.end(), test.recorded.begin(), test.recorded.end());
    const bool failed = !test.failures.empty() || !results.failures.empty();
    for (const auto& failures : {results.failures, test.failures, test.printed})
      lines.insert(lines.end(), failures.begin(), failures.end());
    const char* result = failed ? "fail" : test.skipped ? "skip" : "pass";
    json end = {{"case", test.name}, {"result", result}, {"took_ms", test.took_ms}};
    if (!failed && test.skipped) end["reason"] = test.skip_words;
    lines.push_back(event_line("end", std::move(end)));
  }
  if (!results.ran.empty()) return lines;
  if (!results.failures.empty()) {  // the program ended before its first test
    lines = results.failures;
    lines.push_back(event_line("end", {{"result", "fail"}}));
    return lines;
  }
  lines.push_back(event_line("fail", {{"message", "no test ran: the result of the program contains none"}}));
  lines.push_back(event_line("end", {{"result", "error"}, {"reason", "result_mismatch"}}));
  return lines;
}

class ResultFile final : public Translator {
 public:
  void on_line(std::string_view output) override { printed_ = output; }
  std::vector<std::string> translate(std::string_view text) override {
    auto results = read_results(text);
    if (!results) return {};
    add_printed_words(*results);
    return report_each(*results);
  }

 private:
  void add_printed_words(Results& results) const {
    const auto has_no_words = [](const Results::Test& test) {
      return test.skipped && test.skip_words.empty();
    };
    // The summary contains "[  FAILED  ] Suite: SetUpTestSuite or TearDownTestSuite".
    const bool suite_failed = printed_.find(": SetUpTest") != std::string::npos;
    if (!suite_failed && std::ranges::none_of(results.ran, has_no_words)) return;
    const PrintedWords printed(printed_);
    for (auto& test : results.ran) {
      if (has_no_words(test)) test.skip_words = printed.of_skip(test.name);
      if (suite_failed && results.failures.empty() && test.failures.empty())
        test.printed = printed.failures_outside();
    }
  }

  std::string printed_;  // the end of its output
};

}  // namespace

json parse_gtest_json(std::string_view text) {
  return parse_foreign_json(with_bytes(with_comma(std::string(text))));
}

std::unique_ptr<Translator> gtest_result_file() { return std::make_unique<ResultFile>(); }

std::vector<std::string> report_gtest_results(
    std::string_view text, const std::function<std::string(const std::string&)>& describe_skip) {
  auto results = read_results(text);
  if (!results) return {};
  for (auto& test : results->ran) {
    if (test.skipped && test.skip_words.empty()) test.skip_words = describe_skip(test.name);
  }
  return report_each(*results);
}

// Returns the first line of the reason. The following output may be the program's own.
std::string gtest_skip_reason(std::string_view words) {
  constexpr std::size_t kMaxReason = 200;
  words = words.substr(0, words.find('\n'));
  const std::size_t begin = words.find_first_not_of(" \t\r");
  if (begin == words.npos) return "framework";
  words = words.substr(begin, words.find_last_not_of(" \t\r") + 1 - begin);
  if (words.size() <= kMaxReason) return std::string(words);
  std::size_t end = kMaxReason;
  // do not cut within a character
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;
  return std::string(words.substr(0, end));
}

}  // namespace proctor
