#include "suites/main/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "harness/journal/child_protocol.h"
#include "suites/main/skipped.h"

namespace proctor::suite {

class Session::Listener final : public testing::EmptyTestEventListener {
 public:
  explicit Listener(Session& session) : session_(session) {}

  void OnTestStart(const testing::TestInfo& test) override {
    session_.start(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.failed()) session_.fail(part);
  }
  void OnTestEnd(const testing::TestInfo& test) override { session_.end(*test.result()); }

 private:
  Session& session_;
};

Session& Session::get() {
  static Session session;
  return session;
}

void Session::add(const CheckInfo& info) {
  if (!index_.emplace(info.full_name(), checks_.size()).second) {
    std::cerr << "two checks are named " << info.full_name() << "\n";
    std::abort();
  }
  checks_.push_back(info);
}

const CheckInfo* Session::find(const std::string& full_name) const {
  const auto at = index_.find(full_name);
  return at == index_.end() ? nullptr : &checks_[at->second];
}

void Session::listen(EventWriter writer) {
  writer_ = writer;
  testing::UnitTest::GetInstance()->listeners().Append(std::make_unique<Listener>(*this).release());
}

void Session::emit(std::string_view event, nlohmann::json fields) {
  writer_.write(case_name_, event, std::move(fields));
}

void Session::emit_timed(std::string_view event, nlohmann::json fields) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  fields["t_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  emit(event, std::move(fields));
}

const std::string& Session::size() {
  if (!size_.empty()) return size_;
  const char* asked = std::getenv(child::kSizeVariable);
  size_ = asked != nullptr && *asked != '\0' ? asked : "ci";
  if (size_ != "smoke" && size_ != "ci" && size_ != "full" && size_ != "stress") {
    std::cerr << child::kSizeVariable << " must be smoke, ci, full or stress (got `" << size_ << "`)\n";
    std::exit(2);
  }
  return size_;
}

std::string Session::difference_from_lease() {
  const char* const lease = std::getenv(child::kDevicesVariable);
  const char* const pool = std::getenv(child::kPoolVariable);
  if (visible_ == nullptr || lease == nullptr) return {};
  try {
    return suite::difference_from_lease(lease, pool != nullptr ? pool : "[]", visible_);
  } catch (const Skipped&) {
    throw;  // if the driver cannot list devices, the check cannot run
  } catch (const std::exception& error) {
    emit("warn", {{"message", std::string("the visible devices could not be compared with the lease: ") +
                                  error.what()}});
    return {};
  }
}

void Session::start(const std::string& case_name) {
  case_name_ = case_name;
  current_ = find(case_name);
  const auto slash = case_name.find('/');
  parameter_ = slash == std::string::npos ? "" : case_name.substr(slash + 1);
  skip_reason_.clear();
  fail_reason_.clear();
  error_reason_.clear();
  next_failure_.reset();
  failures_ = 0;
  point_.clear();
  nlohmann::json fields = nlohmann::json::object();
  if (current_ != nullptr) {
    fields["rule"] = current_->rule;
    fields["source"] = current_->source;
    fields["severity"] = to_string(current_->severity);
  }
  emit_timed("start", std::move(fields));
}

void Session::skip(const std::string& reason) {
  skip_reason_ = reason;
  emit("skip", {{"reason", reason}});
}

void Session::fail(const testing::TestPartResult& part) {
  const Mismatch known = std::exchange(next_failure_, std::nullopt).value_or(Mismatch{});
  if (fail_reason_.empty()) fail_reason_ = known.reason;
  emit_timed("fail", {{"rule", current_ != nullptr ? current_->rule : ""},
                      {"message", known.message.empty() ? part.message() : known.message},
                      {"file", part.file_name() != nullptr ? part.file_name() : ""},
                      {"line", std::max(part.line_number(), 0)},
                      {"expected", known.expected},
                      {"got", known.got},
                      {"device", known.device},
                      {"reason", known.reason}});
}

void Session::end(const testing::TestResult& result) {
  if (!error_reason_.empty()) {
    emit("end", {{"result", "error"}, {"reason", error_reason_}});
  } else if (result.Failed()) {
    emit("end", {{"result", "fail"}, {"reason", fail_reason_}});
  } else if (result.Skipped()) {
    emit("end", {{"result", "skip"}, {"reason", skip_reason_}});
  } else {
    emit("end", {{"result", "pass"}, {"reason", ""}});
  }
  current_ = nullptr;
}

namespace {

// Keeps every line below kMaxEventBytes, even if each byte is escaped. Few fields are long.
constexpr std::size_t kMaxTextBytes = 1800;

}  // namespace

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::string mark = " ... ";
  const std::size_t half = (most - mark.size()) / 2;
  return text.substr(0, half) + mark + text.substr(text.size() - half);
}

EventWriter EventWriter::from_environment() {
  const char* text = std::getenv(child::kEventsFdVariable);
  if (text == nullptr || *text == '\0') return EventWriter(-1);
  char* end = nullptr;
  const long fd = std::strtol(text, &end, 10);
  if (*end != '\0' || fd < 0 || fcntl(static_cast<int>(fd), F_GETFD) < 0) {
    std::cerr << child::kEventsFdVariable << "='" << text << "' is not an open descriptor\n";
    std::exit(2);
  }
  // Processes that the check starts must not write events or keep the pipe open.
  fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  return EventWriter(static_cast<int>(fd));
}

void EventWriter::write(std::string_view case_name, std::string_view event, nlohmann::json fields) {
  if (!listening()) return;
  for (auto& value : fields) {
    if (value.is_string()) value = shortened(value.get<std::string>(), kMaxTextBytes);
  }
  fields["v"] = child::kProtocolVersion;
  fields["case"] = case_name;
  fields["event"] = event;
  const std::string line = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  ssize_t written = -1;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) std::cerr << "failed to write an event\n";
}

}  // namespace proctor::suite
