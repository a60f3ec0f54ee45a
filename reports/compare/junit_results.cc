#include "reports/compare/junit_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/read_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {
namespace {

// Converts single-byte encodings of XML files to UTF-8: ISO-8859-1, ISO-8859-15 and windows-1252. XML requires parsers
// to support only UTF-8 and UTF-16.

// A byte whose character differs from ISO-8859-1, where byte and character have the same number.
struct Difference {
  unsigned char byte;
  char16_t character;
};

// Source: ISO/IEC 8859-15.
constexpr Difference kLatin9[] = {{0xA4, 0x20AC}, {0xA6, 0x0160}, {0xA8, 0x0161}, {0xB4, 0x017D},
                                  {0xB8, 0x017E}, {0xBC, 0x0152}, {0xBD, 0x0153}, {0xBE, 0x0178}};

// Source: encoding.spec.whatwg.org, index-windows-1252.txt; five bytes are undefined in windows-1252.
constexpr Difference kWindows1252[] = {
    {0x80, 0x20AC}, {0x81, 0xFFFD}, {0x82, 0x201A}, {0x83, 0x0192}, {0x84, 0x201E}, {0x85, 0x2026},
    {0x86, 0x2020}, {0x87, 0x2021}, {0x88, 0x02C6}, {0x89, 0x2030}, {0x8A, 0x0160}, {0x8B, 0x2039},
    {0x8C, 0x0152}, {0x8D, 0xFFFD}, {0x8E, 0x017D}, {0x8F, 0xFFFD}, {0x90, 0xFFFD}, {0x91, 0x2018},
    {0x92, 0x2019}, {0x93, 0x201C}, {0x94, 0x201D}, {0x95, 0x2022}, {0x96, 0x2013}, {0x97, 0x2014},
    {0x98, 0x02DC}, {0x99, 0x2122}, {0x9A, 0x0161}, {0x9B, 0x203A}, {0x9C, 0x0153}, {0x9D, 0xFFFD},
    {0x9E, 0x017E}, {0x9F, 0x0178}};

using Table = std::array<char16_t, 256>;

template <typename Differences>
Table table_of(const Differences& differences) {
  Table table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) table[byte] = static_cast<char16_t>(byte);
  for (const Difference& one : differences) table[one.byte] = one.character;
  return table;
}

std::optional<Table> table_of_encoding(const std::string& name) {
  constexpr std::array<std::string_view, 4> kNamesOfLatin1 = {"iso-8859-1", "iso8859-1", "iso_8859-1",
                                                              "latin1"};
  constexpr std::array<std::string_view, 4> kNamesOfLatin9 = {"iso-8859-15", "iso8859-15", "iso_8859-15",
                                                              "latin-9"};
  constexpr std::array<std::string_view, 3> kNamesOfWindows = {"windows-1252", "cp1252", "ansi"};
  const auto is_in = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  if (is_in(kNamesOfLatin1)) return table_of(std::array<Difference, 0>());
  if (is_in(kNamesOfLatin9)) return table_of(kLatin9);
  if (is_in(kNamesOfWindows)) return table_of(kWindows1252);
  return std::nullopt;
}

// Appends a character of the Basic Multilingual Plane as UTF-8.
void append(char16_t character, std::string& text) {
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xC0U | character >> 6);
  } else {
    add(0xE0U | character >> 12);
    add(0x80U | (character >> 6 & 0x3F));
  }
  add(0x80U | (character & 0x3F));
}

// Returns true also for ASCII and UTF-16. If the declaration can be read as bytes, the file is not UTF-16 but UTF-8.
bool is_utf8(std::string_view encoding) {
  const std::string name = lower_case(encoding);
  return name.starts_with("utf") || name == "us-ascii" || name == "ascii";
}

// Returns nothing for an unknown encoding. An undefined byte becomes U+FFFD.
std::optional<std::string> utf8_of(std::string_view text, std::string_view encoding) {
  const auto table = table_of_encoding(lower_case(encoding));
  if (!table) return std::nullopt;
  std::string utf8;
  utf8.reserve(text.size() + text.size() / 8);
  for (const char c : text) append((*table)[static_cast<unsigned char>(c)], utf8);
  return utf8;
}

constexpr std::string_view kOurs = "proctor.";
constexpr std::size_t kTextBytes = 200;
constexpr std::size_t kReadOfText = 4096;  // longer texts are cut before cleaning
constexpr std::size_t kIdBytes = 4096;

Error bad_file(const std::string& name, const std::string& why, const std::string& hint = {}) {
  return Error::usage(fmt::format("read {} as JUnit: {}", name, why), hint);
}

std::string cleaned(std::string_view text, std::size_t limit) {
  return one_line(clean_text(text.substr(0, kReadOfText)), limit);
}

// Counts elements and attributes at least as high as the parser. The tree of a file is many times larger than the
// shortest text that produces it.
std::optional<std::string> too_much(std::string_view text) {
  std::size_t elements = 0, attributes = 0;
  char last = ' ';
  for (const char c : text) {
    elements += c == '<';
    attributes += c == '=' && last != '=';
    last = c;
  }
  if (elements > kMostJunitElements) return fmt::format("more than {} elements", kMostJunitElements);
  if (attributes > kMostJunitAttributes) return fmt::format("more than {} attributes", kMostJunitAttributes);
  return std::nullopt;
}

// Parses "1,234.567" seconds, or "0,012" from a program in another locale. Other text gives 0.
std::int64_t milliseconds_of(std::string_view text, const NumberForm& form) {
  const auto seconds = form.figure(text);
  return seconds && *seconds >= 0 && *seconds < 1e9 ? std::llround(*seconds * 1000) : 0;
}

// Returns the outcome in "proctor.crash" or "proctor.xfail: reason".
std::optional<Outcome> our_outcome(std::string_view text) {
  if (!text.starts_with(kOurs)) return std::nullopt;
  text.remove_prefix(kOurs.size());
  return parse_outcome(text.substr(0, text.find(':')));
}

bool says_not_run(const pugi::xml_node& test) {
  constexpr std::array<std::string_view, 5> kWords = {"notrun", "disabled", "suppressed", "skipped",
                                                      "ignored"};
  const auto says = [&](const char* attribute) {
    return std::ranges::find(kWords, test.attribute(attribute).value()) != kWords.end();
  };
  return says("status") || says("result");
}

// The result of one testcase.
struct Read {
  Verdict verdict{Outcome::kPass, ""};
  std::string text{};
  std::string_view kind{};
  int attempts = 1;
  bool flaky = false;
};

std::string text_in(const pugi::xml_node& element) {
  const std::string message = cleaned(element.attribute("message").value(), kTextBytes);
  return message.empty() ? cleaned(element.child_value(), kTextBytes) : message;
}

void read_bad(const pugi::xml_node& element, Outcome otherwise, Read& read) {
  const std::string_view type = element.attribute("type").value();
  const std::optional<Outcome> ours = our_outcome(type);
  if (ours) read.kind = "proctor";
  read.verdict = {ours.value_or(otherwise), ""};
  read.text = text_in(element);
  if (read.text.empty()) read.text = cleaned(type, kTextBytes);
}

void read_skipped(const pugi::xml_node& element, Read& read) {
  const std::string_view message = element.attribute("message").value();
  const bool is_expected = element.attribute("type").value() == std::string_view("pytest.xfail");
  const Outcome outcome = is_expected ? Outcome::kXfail : our_outcome(message).value_or(Outcome::kSkip);
  read.text = text_in(element);
  read.verdict = {outcome, reason_in_words(read.text)};
}

// The worst result in the testcase counts, in any order of its elements.
Read read_test(const pugi::xml_node& test) {
  Read read;
  const pugi::xml_node error = test.child("error"), failure = test.child("failure");
  const pugi::xml_node skipped = test.child("skipped"), flaky = test.child("flakyFailure");
  if (error) {
    read_bad(error, Outcome::kError, read);
  } else if (failure) {
    read_bad(failure, Outcome::kFail, read);
  } else if (skipped) {
    read_skipped(skipped, read);
  } else if (says_not_run(test)) {
    read.verdict.outcome = Outcome::kSkip;
  } else if (flaky || test.child("flakyError")) {
    read.flaky = true;
    read.text = text_in(flaky ? flaky : test.child("flakyError"));
  }
  constexpr std::array<std::string_view, 4> kAttempts = {"flakyFailure", "flakyError", "rerunFailure",
                                                         "rerunError"};
  for (const pugi::xml_node& element : test.children()) {
    if (std::ranges::find(kAttempts, element.name()) != kAttempts.end()) ++read.attempts;
  }
  return read;
}

class TimesSeen final : public pugi::xml_tree_walker {
 public:
  explicit TimesSeen(NumberForm& form) : form_(form) {}
  bool for_each(pugi::xml_node& node) override {
    form_.see(node.attribute("time").value());
    return true;
  }

 private:
  NumberForm& form_;
};

// Converts a parsed JUnit file into RunResults.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {
    results_.place = name;
    results_.complete = true;
    results_.variants = {Variant()};
    SubjectFact unknown;
    unknown.reason = "a JUnit file does not contain this fact";
    results_.subject = {unknown, unknown, unknown, unknown, unknown, ""};
  }

  Result<RunResults> read(pugi::xml_document& document) {
    TimesSeen seen(times_);
    document.traverse(seen);
    int elements = 0;
    for (const pugi::xml_node& node : document.children()) {
      if (node.type() == pugi::node_element && ++elements == 2) {
        return bad_file(name_, "it has a second element at its top, as two files in one have",
                        "Give one file; reports of parts of a run can be merged by their runner.");
      }
      // An external DTD is never fetched, and its declarations are unknown.
      if (node.type() == pugi::node_doctype &&
          std::string_view(node.value()).find('[') != std::string_view::npos)
        return bad_file(name_, "its DOCTYPE declares entities or other content, which is not expanded");
    }
    const pugi::xml_node root = document.document_element();
    const std::string_view kind = root.name();
    if (kind != "testsuites" && kind != "testsuite") {
      return bad_file(name_,
                      fmt::format("it begins with <{}>, and a JUnit file with <testsuites> or <testsuite>",
                                  cleaned(kind, kTextBytes)));
    }
    if (auto added = add_suite(root, 1); !added) return added.error();
    results_.verdict = passed_or_failed(std::ranges::none_of(results_.cases, [](const CaseResult& result) {
      return result.result_class == ResultClass::kFailing;
    }));
    results_.exit_code = exit_code_of(results_.verdict);
    return std::move(results_);
  }

 private:
  Result<void> add_suite(const pugi::xml_node& suite, int depth) {
    if (depth > kMostJunitDepth)
      return bad_file(name_, fmt::format("suites within suites, more than {} deep", kMostJunitDepth));
    for (const pugi::xml_node& child : suite.children()) {
      const std::string_view kind = child.name();
      if (kind == "testcase") add_test(child);
      if (kind != "testsuite" && kind != "testsuites") continue;
      if (auto added = add_suite(child, depth + 1); !added) return added;
    }
    return {};
  }

  void add_test(const pugi::xml_node& test) {
    Read read = read_test(test);
    CaseResult result;
    result.id = ids_.next(test.attribute("classname").value(), test.attribute("name").value());
    result.result_class = meaning_of(read.verdict, read.kind).result_class;
    result.attempts = read.attempts;
    result.flaky = read.flaky;
    result.duration_ms = milliseconds_of(test.attribute("time").value(), times_);
    if (result.result_class != ResultClass::kPassing || read.flaky) add_cause(read, result);
    result.verdict = std::move(read.verdict);
    results_.cases.push_back(std::move(result));
  }

  void add_cause(const Read& read, CaseResult& result) {
    const std::string key = std::string(to_string(read.verdict.outcome)) + "\n" + without_numbers(read.text);
    const auto [found, is_new] = causes_.try_emplace(key, static_cast<std::uint32_t>(results_.causes.size()));
    const std::string text =
        read.text.empty() ? std::string(meaning_of(read.verdict, read.kind).words) : read.text;
    if (is_new) results_.causes.push_back({key, text});
    set_cause(results_, found->second, text, result);
  }

  const std::string& name_;
  RunResults results_;
  JunitIds ids_;
  NumberForm times_;
  std::map<std::string, std::uint32_t> causes_;
};

// Returns the encoding of the XML declaration, or "". It does not search UTF-16 and UTF-32.
std::string declared_encoding(std::string_view text) {
  if (!text.starts_with("<?xml")) return "";
  const std::string_view declaration = text.substr(0, text.find("?>"));
  const std::size_t key = declaration.find("encoding");
  const std::size_t begin = std::min(declaration.find_first_of("\"'", key), declaration.size());
  const std::size_t end = std::min(declaration.find_first_of("\"'", begin + 1), declaration.size());
  return begin < end ? std::string(declaration.substr(begin + 1, end - begin - 1)) : "";
}

Result<std::string> in_utf8(std::string text, const std::string& name) {
  const std::string encoding = cleaned(declared_encoding(text), kTextBytes);
  if (encoding.empty() || is_utf8(encoding)) return text;
  if (auto converted = utf8_of(text, encoding)) return *std::move(converted);
  return bad_file(name, fmt::format("its encoding `{}` is not known", encoding),
                  fmt::format("Convert it to UTF-8 first: iconv -f {} -t UTF-8.", encoding));
}

Result<RunResults> parse_utf8(std::string text, pugi::xml_encoding encoding, const std::string& name) {
  if (const auto what = too_much(text)) return bad_file(name, "it has " + *what);
  pugi::xml_document document;
  const auto parsed = document.load_buffer_inplace(text.data(), text.size(),
                                                   pugi::parse_default | pugi::parse_doctype, encoding);
  if (!parsed) {
    return bad_file(name, fmt::format("at byte {}: {}", parsed.offset, parsed.description()),
                    "A file that was cut short ends in the middle of an element.");
  }
  return Reader(name).read(document);
}

}  // namespace

std::string JunitIds::next(std::string_view classname, std::string_view name) {
  const std::string first = clean_text(classname.substr(0, kIdBytes));
  const std::string second = clean_text(name.substr(0, kIdBytes));
  const std::string id = first.empty() || first == second ? second : first + "." + second;
  std::string unique;
  int& uses = uses_[id];
  do {
    ++uses;
    unique = uses == 1 ? id : fmt::format("{} #{}", id, uses);
  } while (!given_.insert(unique).second);
  return unique;
}

Result<RunResults> parse_junit(std::string text, const std::string& name) {
  if (text.size() > kMostJunitBytes)
    return bad_file(name, fmt::format("it has {} bytes, and {} are read", text.size(), kMostJunitBytes));
  const bool is_declared = !declared_encoding(text).empty();
  auto utf8 = in_utf8(std::move(text), name);
  if (!utf8) return utf8.error();
  return parse_utf8(*std::move(utf8), is_declared ? pugi::encoding_utf8 : pugi::encoding_auto, name);
}

Result<RunResults> load_junit(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    const bool is_there = std::filesystem::exists(path, error);
    return bad_file(path, is_there ? "it is not a regular file" : "there is no such file");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kMostJunitBytes)
    return bad_file(path, fmt::format("it has {} bytes, and {} are read", size, kMostJunitBytes));
  auto text = read_file(path, kMostJunitBytes);
  if (!text) return bad_file(path, text.error().what);
  return parse_junit(*std::move(text), path);
}

}  // namespace proctor
