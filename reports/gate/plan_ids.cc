#include "reports/gate/plan_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "harness/core/digest.h"
#include "harness/core/json.h"

namespace proctor {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kVersion = 1;

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// Hears the file and says it again without blanks and without its digest, which is how the digest is made: keys are sorted
// in both (harness/plan/plan_file.cc).
class PlanListener final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return word("null"); }
  bool boolean(bool value) override { return word(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    if (path_is({"version"})) version_ = value;
    return word(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (path_is({"version"})) version_ = static_cast<std::int64_t>(value);
    if (path_is({"cases", "", "suite"})) suite_of_case_ = value;
    return word(std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override { return word(text); }
  bool binary(binary_t&) override { return false; }

  bool string(string_t& text) override {
    if (path_is({"format"})) format_ = text;
    if (path_is({"digest"})) {
      said_digest_ = text;
      return true;
    }
    if (path_is({"plan_digest"})) plan_.plan_digest = text;
    if (path_is({"cases", "", "id"})) id_ = text;
    if (path_is({"suites", "", "name"})) suites_.back().first = text;
    if (path_is({"suites", "", "backend"})) suites_.back().second = text;
    separate();
    append_quoted(text_, text);
    return pass();
  }
  bool key(string_t& name) override {
    path_.back() = name;
    if (path_is({"digest"})) return true;
    separate();
    append_quoted(text_, name);
    text_ += ':';
    after_key_ = true;
    return pass();
  }
  bool start_object(std::size_t) override {
    if (path_is({"suites", ""})) suites_.emplace_back();
    return open('{');
  }
  bool end_object() override {
    close('}');
    if (path_is({"cases", ""})) cases_.emplace_back(suite_of_case_, std::move(id_));
    return true;
  }
  bool start_array(std::size_t) override { return open('['); }
  bool end_array() override { return close(']'); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  // "" when it is a plan.
  std::string take(GatePlan& plan) {
    digest_.add(text_);
    if (format_ != "proctor-plan") return "it is no plan of Proctor";
    if (version_ != kVersion)
      return fmt::format("its format is version {}, and this Proctor reads version {}", version_, kVersion);
    if (digest_.hex() != said_digest_)
      return "it was changed after it was made: its digest is that of another content";
    plan_.digest = said_digest_;
    for (auto& [suite, id] : cases_) {
      if (suite >= suites_.size()) return fmt::format("its case {} is of no suite", id);
      plan_.cases[suites_[suite]].push_back(std::move(id));
    }
    for (auto& [suite, ids] : plan_.cases) std::ranges::sort(ids);
    plan = std::move(plan_);
    return "";
  }

 private:
  // "" stands for an element of an array.
  bool path_is(std::initializer_list<std::string_view> keys) const { return std::ranges::equal(path_, keys); }
  void separate() {
    if (!first_ && !after_key_) text_ += ',';
    first_ = after_key_ = false;
  }
  bool word(std::string_view text) {
    separate();
    text_ += text;
    return pass();
  }
  bool open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    path_.emplace_back();
    return true;
  }
  bool close(char bracket) {
    path_.pop_back();
    text_ += bracket;
    first_ = false;
    return pass();
  }
  bool pass() {
    if (text_.size() < 1 << 16) return true;
    digest_.add(text_);
    text_.clear();
    return true;
  }

  std::vector<std::string> path_;
  std::string text_;
  bool first_ = true;
  bool after_key_ = false;
  Sha256 digest_;
  GatePlan plan_;
  std::string format_;
  std::string said_digest_;
  std::int64_t version_ = 0;
  std::vector<std::pair<std::string, std::string>> suites_;  // name, backend
  std::uint64_t suite_of_case_ = 0;
  std::string id_;
  std::vector<std::pair<std::uint64_t, std::string>> cases_;
};

}  // namespace

Result<GatePlan> parse_gate_plan(std::string_view text, const std::string& file) {
  PlanListener listener;
  GatePlan plan;
  const bool parsed = Json::sax_parse(text, &listener);
  const std::string why = parsed ? listener.take(plan) : "it is no plan of Proctor";
  if (!why.empty()) {
    return Error::usage(fmt::format("read the plan {}: {}", file, why),
                        "Make it with `proctor plan -o FILE`, and leave it as it is.");
  }
  plan.file = file;
  return plan;
}

}  // namespace proctor
