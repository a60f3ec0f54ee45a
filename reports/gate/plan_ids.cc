#include "reports/gate/plan_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "harness/core/digest.h"
#include "harness/core/json.h"

namespace proctor {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kVersion = "1";

// A text between quotes, without them.
std::string unquoted(std::string_view raw) {
  if (raw.find('\\') == raw.npos) return std::string(raw.substr(1, raw.size() - 2));
  const auto text = parse_json(raw);
  return text.is_string() ? text.get<std::string>() : std::string();
}

// Goes through the file once. Its digest is made of the same text without blanks and without the member `digest`
// (harness/plan/plan_file.cc), so nothing needs to be understood but where texts begin and end, and what stands in the few
// places that a gate asks for. What is no JSON has no such digest.
class PlanScanner {
 public:
  explicit PlanScanner(std::string_view text) : text_(text) {}

  // "" when it is a plan.
  std::string scan(GatePlan& plan) {
    while (!broken_ && next()) {
    }
    digest_.add(compact_);
    if (broken_ || !open_.empty() || format_ != "proctor-plan") return "it is not a Proctor plan";
    if (version_ != kVersion)
      return fmt::format("its format is version {}, and this Proctor reads version {}", version_, kVersion);
    if (digest_.hex() != said_digest_)
      return "it was changed after it was written: its digest does not match its content";
    if (!point_.empty())
      return fmt::format("it was written with --suite-arg point={}, and runs each check with that point only",
                         point_);
    plan.digest = said_digest_;
    plan.size = size_;
    plan.seed = seed_;
    plan.plan_digest = plan_digest_;
    for (auto& [suite, id] : cases_) {
      if (suite >= suites_.size()) return fmt::format("its case {} belongs to no suite", id);
      plan.cases[suites_[suite]].push_back(std::move(id));
    }
    for (auto& [suite, ids] : plan.cases) std::ranges::sort(ids);
    return "";
  }

 private:
  bool next() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    if (at_ == text_.size()) return false;
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      begin(c);
    } else if (c == '}' || c == ']') {
      end(c);
    } else if (c == ',' || c == ':') {
      separator(c);
    } else {
      word(c == '"' ? text() : bare());
    }
    return true;
  }

  void begin(char bracket) {
    take(text_.substr(at_++, 1));
    if (bracket == '{' && in("suites", 2)) suites_.emplace_back();
    open_ += bracket;
    key_is_next_ = bracket == '{';
  }

  void end(char bracket) {
    const char opened = bracket == '}' ? '{' : '[';
    broken_ = open_.empty() || open_.back() != opened;
    if (broken_) return;
    take(text_.substr(at_++, 1));
    open_.pop_back();
    if (bracket == '}' && in("cases", 2)) cases_.emplace_back(suite_of_case_, std::move(id_));
  }

  void separator(char c) {
    key_is_next_ = c == ',' && !open_.empty() && open_.back() == '{';
    if (skips_comma_ && c == ',') {
      skips_comma_ = false;
      ++at_;
    } else {
      take(text_.substr(at_++, 1));
    }
  }

  // With its quotes.
  std::string_view text() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    broken_ = end >= text_.size();
    return text_.substr(at_, end + 1 - at_);
  }
  std::string_view bare() const {
    const auto end = std::min(text_.find_first_of(" \t\r\n,:]}[{\"", at_), text_.size());
    return text_.substr(at_, end - at_);
  }

  // A key, or a value that is no object and no array.
  void word(std::string_view raw) {
    at_ += raw.size();
    const bool is_key = key_is_next_;
    key_is_next_ = false;
    if (is_key) key_ = raw.substr(1, raw.size() - std::min<std::size_t>(raw.size(), 2));
    if (is_key && open_.size() == 1) top_ = key_;
    if (open_.size() == 1 && top_ == "digest") {  // with the colon between
      if (!is_key) said_digest_ = unquoted(raw);
      if (!is_key) compact_.pop_back();
      skips_comma_ = !is_key;
      return;
    }
    take(raw);
    if (!is_key) value(raw);
  }

  void value(std::string_view raw) {
    const bool is_text = raw.starts_with('"') && raw.size() >= 2;
    if (open_.size() == 1 && top_ == "version") version_ = raw;
    if (open_.size() == 1 && top_ == "seed") seed_ = raw == "0" ? "" : raw;
    if (in("cases", 3) && key_ == "suite")
      std::from_chars(raw.data(), raw.data() + raw.size(), suite_of_case_);
    if (!is_text) return;
    if (open_.size() == 1 && top_ == "format") format_ = unquoted(raw);
    if (open_.size() == 1 && top_ == "plan_digest") plan_digest_ = unquoted(raw);
    if (open_.size() == 1 && top_ == "size") size_ = unquoted(raw);
    if (open_.size() == 1 && top_ == "point") point_ = unquoted(raw);
    if (in("cases", 3) && key_ == "id") id_ = unquoted(raw);
    if (in("suites", 3) && !suites_.empty() && key_ == "name") suites_.back().first = unquoted(raw);
    if (in("suites", 3) && !suites_.empty() && key_ == "backend") suites_.back().second = unquoted(raw);
  }

  bool in(std::string_view top, std::size_t depth) const { return open_.size() == depth && top_ == top; }

  void take(std::string_view piece) {
    compact_ += piece;
    if (compact_.size() < kPiece) return;
    // The last byte may have to go again.
    digest_.add(std::string_view(compact_).substr(0, compact_.size() - 1));
    compact_.erase(0, compact_.size() - 1);
  }

  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;  // the brackets around
  std::string_view top_;
  std::string_view key_;
  bool key_is_next_ = false;
  bool skips_comma_ = false;
  bool broken_ = false;
  std::string compact_;
  Sha256 digest_;
  std::string format_;
  std::string version_;
  std::string said_digest_;
  std::string plan_digest_;
  std::string size_;
  std::string_view seed_;
  std::string point_;
  std::vector<std::pair<std::string, std::string>> suites_;  // name, backend
  std::uint64_t suite_of_case_ = 0;
  std::string id_;
  std::vector<std::pair<std::uint64_t, std::string>> cases_;
};

}  // namespace

Result<GatePlan> parse_gate_plan(std::string_view text, const std::string& file) {
  GatePlan plan;
  plan.file = file;
  const std::string why = PlanScanner(text).scan(plan);
  if (why.empty()) return plan;
  return Error::usage(fmt::format("read the plan {}: {}", file, why),
                      "Write it with `proctor plan -o FILE`, and do not change it.");
}

}  // namespace proctor
