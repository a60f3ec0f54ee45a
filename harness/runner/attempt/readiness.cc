#include "harness/runner/attempt/readiness.h"

#include <unistd.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxLine = 4096;

}  // namespace

Result<LineRegex> LineRegex::compile(const std::string& pattern) {
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
    char text[256];
    ::regerror(error, compiled.get(), text, sizeof text);
    return Error::usage("compile the regular expression `" + clean_text(pattern) + "`: " + text,
                        "Use POSIX extended syntax, as in `grep -E`.");
  }
  LineRegex regex;
  regex.regex_ = std::shared_ptr<regex_t>(compiled.release(), [](regex_t* owned) {
    ::regfree(owned);
    delete owned;
  });
  return regex;
}

bool LineRegex::matches(std::string_view line, bool complete) const {
  // regexec() stops at the first 0 byte. A line may contain such bytes, so each becomes another byte that no pattern
  // names. REG_STARTEND, which takes a length, is missing in some C libraries, for example musl.
  std::string text(line);
  std::replace(text.begin(), text.end(), '\0', '\1');
  return ::regexec(regex_.get(), text.c_str(), 0, nullptr, complete ? 0 : REG_NOTEOL) == 0;
}

Readiness::Readiness(ReadyPolicy policy, Clock::time_point started)
    : policy_(std::move(policy)), started_(started), out_(kMaxLine), err_(kMaxLine) {}

Readiness::~Readiness() {
  if (reported_) ::unlink(policy_.file.c_str());
}

bool Readiness::scan(Stream stream, std::string_view bytes, Clock::time_point now) {
  if (is_ready()) return false;
  LineSplitter& lines = lines_of(stream);
  lines.feed(bytes, [&](std::string_view line) { consider(line, /*complete=*/true, now); });
  consider(lines.partial(), /*complete=*/false, now);
  return is_ready();
}

void Readiness::streams_ended(Clock::time_point now) {
  for (LineSplitter* lines : {&out_, &err_})
    lines->finish([&](std::string_view line) { consider(line, /*complete=*/true, now); });
}

void Readiness::consider(std::string_view line, bool complete, Clock::time_point now) {
  if (is_ready() || (!complete && line.empty()) || !policy_.regex.matches(line, complete)) return;
  ready_at_ = now;
  line_ = line;
}

std::optional<Measure> Readiness::measure() const {
  if (!ready_at_) return std::nullopt;
  const std::chrono::duration<double, std::milli> took = *ready_at_ - started_;
  return Measure{.name = "ready", .value = took.count(), .unit = "ms", .n = 1, .spread = 0};
}

Result<void> Readiness::report(const std::vector<std::string>& devices) {
  if (policy_.file.empty() || !ready_at_) return {};
  const nlohmann::json record = {{"pid", ::getpid()}, {"line", clean_text(line_)}, {"devices", devices}};
  const std::string text = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (auto written = replace_file(policy_.file, text); !written) return written;
  reported_ = true;
  return {};
}

}  // namespace proctor
