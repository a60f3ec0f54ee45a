#include "harness/frameworks/xml_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>

#include "harness/base/document_limits.h"
#include "harness/base/json.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kOpen = "<TestCase";
constexpr std::string_view kClose = "</TestCase>";
constexpr std::string_view kTotals = "<OverallResults";  // follows the last test
constexpr std::size_t kMostText = 64 * 1024;             // most text between two tags
constexpr std::size_t kMostShown = 200;                  // most text that is shown of an invalid report
constexpr std::ptrdiff_t kMostElements = 2'000'000;      // each element takes about 200 bytes
constexpr std::size_t kMostOfTest = 4 * 1024 * 1024;     // most bytes of the element of one test

bool is_text(const pugi::xml_node& node) {
  return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
}

XmlElement element_of(const pugi::xml_node& node) {
  XmlElement element{.name = node.name(), .attributes = {}, .text = {}, .children = {}};
  for (const pugi::xml_attribute& attribute : node.attributes())
    element.attributes[attribute.name()] = attribute.value();
  std::string text;
  for (const pugi::xml_node& child : node.children()) {
    if (is_text(child)) text += child.value();
    if (child.type() == pugi::node_element) element.children.push_back(element_of(child));
  }
  element.text = trimmed(text);
  return element;
}

class NotTooDeep final : public pugi::xml_tree_walker {
  bool for_each(pugi::xml_node& node) override {
    return node.type() != pugi::node_element || depth() < static_cast<int>(kMostNesting);
  }
};

// Returns the end of the tag that begins at `from`. It is after the tag's '>', or before the next '<' if part
// of the tag was lost, because a long line arrives truncated. npos: the tag is not complete yet. The value of
// an attribute may contain '>', but not '<'.
std::size_t end_of_tag(std::string_view text, std::size_t from) {
  bool quoted = false;
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '<') return i;
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '>' && !quoted) return i + 1;
  }
  return std::string_view::npos;
}

std::optional<XmlElement> parse_tag(std::string_view tag) {
  std::string text(tag);
  if (!text.ends_with("/>")) text.insert(text.size() - 1, "/");
  return parse_xml(text);
}

// Returns the text of a failed assertion. A failed WARN is not a failure.
std::string expression_text(const XmlElement& expression) {
  std::string text = fmt::format("{}( {} )", expression.attribute("type"), expression.child_text("Original"));
  for (const XmlElement& child : expression.children) {
    if (child.name == "Exception") text += "\nthrew: " + child.text;
    if (child.name == "Expanded" && expression.child("Exception") == nullptr)
      text += "\nwith expansion: " + child.text;
    if (child.name.starts_with("ExpectedException")) text += fmt::format("\n{}: {}", child.name, child.text);
  }
  return text;
}

// Returns none if the element is not a failure.
std::optional<std::string> failure_text(const XmlElement& element) {
  const std::string type = element.attribute("type");
  if (element.name == "Expression" && element.attribute("success") == "false" && !type.starts_with("WARN"))
    return expression_text(element);
  if (element.name == "Exception") return "unexpected exception: " + element.text;
  if (element.name == "Failure" || element.name == "FatalErrorCondition") return element.text;
  if (element.name == "Message" && type != "WARNING") return element.child_text("Text");
  return std::nullopt;
}

// Adds a `fail` event for each failure in a test and its sections, with its notes. Catch2 writes the text of
// INFO and WARN before a failure, doctest inside it.
void add_failures(const XmlElement& element, const XmlDialect& dialect, std::vector<std::string>& events) {
  std::string notes;
  for (const XmlElement& child : element.children) {
    if (child.name == "Info" || child.name == "Warning") notes += "\n" + child.text;
    if (auto text = failure_text(child)) {
      for (const XmlElement& inner : child.children) {
        if (inner.name == "Info") notes += "\n" + inner.text;
      }
      events.push_back(event_line("fail", {{"file", child.attribute("filename")},
                                           {"line", written_count(child.attribute("line")).value_or(0)},
                                           {"message", *text + notes}}));
    }
    if (child.name == "Expression" || child.name == "Failure") notes.clear();
    if (child.name == dialect.section || child.name == dialect.end) add_failures(child, dialect, events);
  }
}

// Returns a measure. The numbers are in the locale of the program, and all of them together determine the
// decimal point.
std::string measure_line(const XmlElement& benchmark) {
  NumberForm form;
  for (const XmlElement& child : benchmark.children) {
    for (const auto& [name, value] : child.attributes) form.see(value);
  }
  const auto written = [&](std::string_view name) {
    const XmlElement* child = benchmark.child(name);
    return child == nullptr ? std::string() : child->attribute("value");
  };
  const std::string name = benchmark.attribute("name");
  const auto mean = form.figure(written("mean"));
  if (!mean) {
    return event_line(
        "warn", {{"message", fmt::format("benchmark `{}` has no figure: its mean `{}` is not a valid number",
                                         name, written("mean"))}});
  }
  return event_line("measure", {{"name", name},
                                {"value", *mean},
                                {"unit", "ns"},
                                {"n", written_count(benchmark.attribute("samples")).value_or(1)},
                                {"spread", form.figure(written("standardDeviation")).value_or(0)}});
}

// Adds the output and the measures of a test, and returns the reason if the test skipped itself.
void add_rest(const XmlElement& element, const XmlDialect& dialect, std::vector<std::string>& events,
              std::string& skipped) {
  for (const XmlElement& child : element.children) {
    if (child.name == "Skip") skipped = child.text.empty() ? "framework" : child.text;
    if (child.name == "BenchmarkResults") events.push_back(measure_line(child));
    if (child.name == "StdOut" || child.name == "StdErr")
      events.push_back(event_line("output", {{"text", child.text + "\n"}}));
    if (child.name == dialect.section || child.name == dialect.end) add_rest(child, dialect, events, skipped);
  }
}

// Returns the reason of the expected failure, or "" if the test has none.
std::string_view expected_by(const XmlDialect& dialect, const XmlElement& test, const XmlElement& end) {
  for (const auto& mark : dialect.expected) {
    for (const XmlElement* element : {&test, &end}) {
      const std::string value = element->attribute(mark.attribute);
      if (!value.empty() && value.find(mark.text) != value.npos) return mark.reason;
    }
  }
  return {};
}

// Returns the events of a test. A test without an end has no `end` event, and so no result.
std::vector<std::string> events_of(const XmlElement& test, const XmlDialect& dialect) {
  std::vector<std::string> events;
  add_failures(test, dialect, events);
  const bool any_failure = !events.empty();
  std::string skipped;
  add_rest(test, dialect, events, skipped);
  const XmlElement* overall = test.child(dialect.end);
  const std::string success = overall == nullptr ? "" : overall->attribute(dialect.success);
  if (success.empty()) return events;
  const bool passed = success == "true";
  const std::string_view expected = expected_by(dialect, test, *overall);
  nlohmann::json end{{"result", passed ? "pass" : "fail"}};
  if (passed && !any_failure && !skipped.empty()) {
    end = {{"result", "skip"}, {"reason", skipped}};
  } else if (!expected.empty() && passed == any_failure) {
    end = {{"result", passed ? "xfail" : "fail"}, {"reason", expected}};
  }
  events.push_back(event_line("end", std::move(end)));
  return events;
}

class XmlTranslator final : public Translator {
 public:
  XmlTranslator(const XmlDialect& dialect, EqualTests tests) : dialect_(dialect), tests_(std::move(tests)) {}

  std::vector<std::string> translate(std::string_view text) override {
    buffer_ += text;
    std::vector<std::string> events;
    while (next_tag(events)) {
    }
    // Between the tests, only text that may be the beginning of a tag is kept.
    if (!inside_ && scanned_ > 0) {
      buffer_.erase(0, scanned_);
      scanned_ = text_begin_ = 0;
    }
    return events;
  }

 private:
  // Reads the next tag. Returns false if it is not complete. '<' in a text or an attribute is written as an
  // entity.
  bool next_tag(std::vector<std::string>& events) {
    std::size_t begin = std::min(buffer_.find('<', scanned_), buffer_.size());
    begin -= cut_text(begin);
    const std::size_t end = begin == buffer_.size() ? std::string::npos : end_of_tag(buffer_, begin);
    if (end == std::string::npos) {
      scanned_ = begin;
      if (buffer_.size() - begin > kMostText) give_up(events);
      return false;
    }
    scanned_ = text_begin_ = end;
    const std::string tag = buffer_.substr(begin, end - begin);
    if (!inside_ && is_tag(tag, kOpen)) {
      inside_ = true;
      buffer_.erase(0, begin);
      scanned_ = text_begin_ = end - begin;
      open(tag, events);
    } else if (!inside_ && !dialect_.group.empty() && is_tag(tag, fmt::format("<{}", dialect_.group))) {
      const auto element = parse_tag(tag);
      group_ = element ? element->attribute("name") : "";
    } else if (!inside_ && opened_ == 0 && tag.starts_with(kTotals)) {
      opened_ = 1;
      add_none_ran(events);
    } else if (tag == kClose && inside_) {
      close(events);
    } else if (tag == kClose) {
      events.push_back(tag);  // not an event: no test was open, or it has already ended
    } else if (inside_) {
      step(tag, events);
      keep_or_drop(tag, begin);
      if (open_.size() > kMostNesting) give_up(events);
    }
    return true;
  }

  // Stops reading an invalid report. The case violates the protocol, and the buffer is dropped.
  void give_up(std::vector<std::string>& events) {
    events.push_back(buffer_.substr(0, kMostShown));
    buffer_.clear();
    open_.clear();
    scanned_ = text_begin_ = 0;
    inside_ = false;
  }

  // Limits a long text without an end, such as the output of a test, to its last part. Returns how many bytes
  // were removed.
  std::size_t cut_text(std::size_t end) {
    const std::size_t length = end - text_begin_;
    if (!inside_ || length <= kMostText) return 0;
    buffer_.erase(text_begin_, length - kMostText);
    return length - kMostText;
  }

  // Keeps or drops an ended element. A test with a million failures must not use up the memory: beyond a
  // limit, ended elements are dropped, except the result of the whole test.
  void keep_or_drop(const std::string& tag, std::size_t begin) {
    if (tag.starts_with("<!") || tag.ends_with("/>")) return;
    if (!tag.starts_with("</")) return open_.push_back(begin);
    if (open_.empty()) return;
    std::size_t from = open_.back();
    open_.pop_back();
    if (from < kMostOfTest || tag == fmt::format("</{}>", dialect_.end)) return;
    while (std::string_view(" \n").find(buffer_[from - 1]) != std::string_view::npos) --from;
    buffer_.erase(from, scanned_ - from);
    scanned_ = text_begin_ = from;
  }

  static bool is_tag(std::string_view tag, std::string_view start) {
    return tag.starts_with(start) && tag.size() > start.size() &&
           std::string_view(" \t\r\n/>").find(tag[start.size()]) != std::string_view::npos;
  }

  void open(const std::string& tag, std::vector<std::string>& events) {
    auto element = parse_tag(tag);
    if (!element) {
      events.push_back(tag);  // not an event: the case violates the protocol
      return;
    }
    if (!group_.empty()) element->attributes["testsuite"] = group_;
    id_ = xml_id(*element);
    if (!tests_.any_case_of.empty() && lower_case(id_) == lower_case(tests_.any_case_of))
      id_ = tests_.any_case_of;
    const bool goes_on = opened_ > 0 && opened_ < tests_.count;  // another test with the same name
    if (!goes_on) events.push_back(event_line("start", {{"case", id_}}));
    ++opened_;
    if (tag.ends_with("/>")) close(events);
  }

  void close(std::vector<std::string>& events) {
    const std::string text = buffer_.substr(0, scanned_);
    buffer_.erase(0, scanned_);
    scanned_ = text_begin_ = 0;
    open_.clear();
    inside_ = false;
    const auto element = parse_xml(text);
    if (!element) {
      events.push_back(text.substr(0, kMostShown));
      return;
    }
    for (std::string& event : events_of(*element, dialect_)) add(std::move(event), events);
  }

  // Adds an event. Only the last test ends a case that has several.
  void add(std::string event, std::vector<std::string>& events) {
    const auto fields = tests_.count > 1 ? parse_json(event) : nlohmann::json();
    const bool is_end = text_at(fields, "event") == "end";
    if (!is_end) return events.push_back(std::move(event));
    const auto rank = [](const nlohmann::json& end) {
      constexpr std::array<std::string_view, 4> kBetter = {"", "skip", "pass", "xfail"};
      return std::ranges::find(kBetter, text_at(end, "result")) - kBetter.begin();  // "fail" is the worst
    };
    if (rank(fields) > rank(end_)) end_ = fields;
    if (opened_ >= tests_.count) events.push_back(end_.dump());
  }

  // Adds a failure if no test has the name. The report then contains totals only, and the exit code can be 0.
  static void add_none_ran(std::vector<std::string>& events) {
    events.push_back(event_line("fail", {{"message", "no test ran: the framework found none of this name"}}));
    events.push_back(event_line("end", {{"result", "error"}, {"reason", "result_mismatch"}}));
  }

  void step(const std::string& tag, std::vector<std::string>& events) {
    if (!is_tag(tag, fmt::format("<{}", dialect_.section))) return;
    if (const auto element = parse_tag(tag))
      events.push_back(event_line("step", {{"case", id_}, {"name", element->attribute("name")}}));
  }

  const XmlDialect& dialect_;
  const EqualTests tests_;
  std::string buffer_;
  std::size_t scanned_ = 0;        // offset in the buffer up to which tags were read
  std::size_t text_begin_ = 0;     // end of the last tag in the buffer
  std::vector<std::size_t> open_;  // offsets of the open elements of the test
  bool inside_ = false;            // a test is open, and its element begins the buffer
  std::string id_;                 // of that test
  std::string group_;              // the name of the last group that was opened
  int opened_ = 0;                 // number of opened tests
  nlohmann::json end_;             // the worst result of a case with several tests
};

}  // namespace

std::string XmlElement::attribute(std::string_view key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? std::string() : found->second;
}

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const XmlElement& element) { return element.name == wanted; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::child_text(std::string_view wanted) const {
  const XmlElement* found = child(wanted);
  return found == nullptr ? std::string() : found->text;
}

std::optional<XmlElement> parse_xml(const std::string& text) {
  if (text.size() > kMostDocumentBytes || std::ranges::count(text, '<') > 2 * kMostElements)
    return std::nullopt;
  constexpr unsigned kAllText = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_ws_pcdata;
  pugi::xml_document document;
  NotTooDeep limit;
  const auto parsed = document.load_buffer(text.data(), text.size(), kAllText, pugi::encoding_utf8);
  if (!parsed || !document.traverse(limit)) return std::nullopt;
  return element_of(document.document_element());
}

std::optional<XmlElement> find_xml(const std::string& text, const std::string& name) {
  const std::string close = "</" + name + ">";
  const std::size_t begin = text.find("<" + name);
  const std::size_t end = text.rfind(close);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return parse_xml(text.substr(begin, end + close.size() - begin));
}

// Returns the id. The macro SCENARIO of doctest adds blanks before a name, which are removed.
std::string xml_id(const XmlElement& test) {
  const std::string group = test.attribute("testsuite");
  return fmt::format("{}{}{}", group, group.empty() ? "" : "/", trimmed(test.attribute("name")));
}

std::unique_ptr<Translator> xml_translator(const XmlDialect& dialect, EqualTests tests) {
  return std::make_unique<XmlTranslator>(dialect, std::move(tests));
}

}  // namespace proctor
