// The GoogleTest listener of Proctor. It reports each case to the runner as it happens. A whole program can
// therefore run in one process, and a crash or a hang is still assigned to exactly one case.
//
//   target_link_libraries(my_test PRIVATE Proctor::gtest_listener)      # after find_package(Proctor)
//
// Alternatively, compile this one file into the program. The listener registers itself. It does nothing
// unless PROCTOR_EVENTS_FD names an open descriptor. To this descriptor it writes one line of JSON per event,
// each with one write() of at most 64 KiB:
//
//   {"v":1,"event":"listener","name":"gtest"}                    once, while the program is loaded
//   {"v":1,"event":"start","case":"Suite.Name","t_ns":N}
//   {"v":1,"event":"fail","case":...,"message":...,"file":...,"line":N}
//   {"v":1,"event":"skip","case":...,"reason":...}
//   {"v":1,"event":"end","case":...,"result":"pass|fail|skip"}
//
// A case ends when the next case or the next group begins. The last case ends after the environments were
// torn down. A failure in between counts for that case. A failure in the setup of a group or of the program
// counts for each of its cases.
//
// It needs only GoogleTest >= 1.10 and C++11.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#if defined(GTEST_HAS_ABSL) && GTEST_HAS_ABSL
#error \
    "Proctor's listener needs GoogleTest's own --gtest_flagfile; this GoogleTest was built with Abseil's flags"
#endif

namespace {

const size_t kMaxText = 20 * 1024;  // of one escaped field; a line has at most three of them
const int kMaxFailures = 1000;      // reported for one case; a loop must not fill the runner's memory

// Returns the length of the well-formed UTF-8 sequence at `p` (RFC 3629), or 0.
size_t sequence_length(const unsigned char* p, size_t left) {
  if (p[0] < 0x80) return 1;
  const size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || left < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
  const bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
  const bool beyond = p[0] == 0xf4 && p[1] >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// Returns the text as the inside of a JSON string, truncated if it is too long. A byte outside of UTF-8
// becomes \xHH as text.
std::string escape(const std::string& text) {
  std::string out;
  const unsigned char* p = reinterpret_cast<const unsigned char*>(text.data());
  for (size_t i = 0; i < text.size() && out.size() < kMaxText;) {
    const size_t length = sequence_length(p + i, text.size() - i);
    char code[8];
    if (length == 0) {
      snprintf(code, sizeof code, "\\\\x%02x", static_cast<unsigned>(p[i]));
      out += code;
    } else if (p[i] == '"' || p[i] == '\\') {
      out += '\\';
      out += text[i];
    } else if (p[i] < 0x20) {
      snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(p[i]));
      out += code;
    } else {
      out.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

// Builds one line of the protocol.
class Line {
 public:
  explicit Line(const char* event) : text_(std::string("{\"v\":1,\"event\":\"") + event + '"') {}
  Line& add(const char* key, const std::string& value) {
    text_ += std::string(",\"") + key + "\":\"" + escape(value) + '"';
    return *this;
  }
  Line& add(const char* key, int64_t value) {
    text_ += std::string(",\"") + key + "\":" + std::to_string(value);
    return *this;
  }
  std::string end() const { return text_ + "}\n"; }

 private:
  std::string text_;
};

struct Failure {
  std::string message;
  std::string file;
  int line;
};

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

std::string name_of(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

class ProctorListener : public testing::EmptyTestEventListener {
 public:
  explicit ProctorListener(int fd)
      : fd_(fd), pid_(getpid()), in_group_(false), any_began_(false), failures_(0), result_("") {
    send(Line("listener").add("name", std::string("gtest")));
  }

  void OnTestSuiteStart(const testing::TestSuite&) override {
    if (is_fork()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    close();
    in_group_ = true;
    group_failures_.clear();
  }

  void OnTestStart(const testing::TestInfo& test) override {
    if (is_fork()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    close();
    open(test);
  }

  // GoogleTest calls this in any thread.
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (is_fork() || !part.failed()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const Failure failure = {part.message(), part.file_name() ? part.file_name() : "",
                             part.line_number() > 0 ? part.line_number() : 0};
    if (open_.empty()) {
      (in_group_ ? group_failures_ : program_failures_).push_back(failure);
    } else {
      write_failure(failure);
    }
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    if (is_fork()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    const testing::TestResult& result = *test.result();
    if (result.Failed()) result_ = "fail";
    if (result_[0] == '\0') result_ = result.Skipped() ? "skip" : "pass";
    if (result_[0] == 's') send(Line("skip").add("case", open_).add("reason", skip_reason(result)));
  }

  void OnEnvironmentsTearDownEnd(const testing::UnitTest& program) override {
    if (is_fork()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    close();
    if (!any_began_) report_none_began(program);
  }

 private:
  // Returns true in a fork, such as the child of a death test. A fork must not report, and must not take a
  // lock that another thread of its parent held.
  bool is_fork() const { return getpid() != pid_; }

  void open(const testing::TestInfo& test) {
    open_ = name_of(test);
    any_began_ = true;
    failures_ = 0;
    result_ = "";
    send(Line("start").add("case", open_).add("t_ns", now_ns()));
    for (const Failure& failure : program_failures_) write_failure(failure);
    for (const Failure& failure : group_failures_) write_failure(failure);
  }

  void write_failure(const Failure& failure) {
    result_ = "fail";
    if (++failures_ > kMaxFailures) return;
    send(Line("fail")
             .add("case", open_)
             .add("message", failure.message)
             .add("file", failure.file)
             .add("line", static_cast<int64_t>(failure.line)));
  }

  void close() {
    if (!open_.empty()) send(Line("end").add("case", open_).add("result", std::string(result_)));
    open_.clear();
  }

  // Reports all cases if none began: the setup of the program failed, or skipped all of them.
  void report_none_began(const testing::UnitTest& program) {
    const bool skipped = program.ad_hoc_test_result().Skipped();
    if (program_failures_.empty() && !skipped) return;
    group_failures_.clear();
    for (int i = 0; i < program.total_test_suite_count(); ++i) {
      const testing::TestSuite& group = *program.GetTestSuite(i);
      for (int k = 0; k < group.total_test_count(); ++k) {
        const testing::TestInfo& test = *group.GetTestInfo(k);
        if (!test.should_run()) continue;
        open(test);
        if (program_failures_.empty()) {
          result_ = "skip";
          send(Line("skip").add("case", open_).add("reason", skip_reason(program.ad_hoc_test_result())));
        }
        close();
      }
    }
  }

  static std::string skip_reason(const testing::TestResult& result) {
    for (int i = 0; i < result.total_part_count(); ++i) {
      if (!result.GetTestPartResult(i).skipped()) continue;
      std::string reason = result.GetTestPartResult(i).message();
      while (!reason.empty() && reason.back() == '\n')
        reason.pop_back();  // newer versions of GoogleTest add it
      return reason;
    }
    return "";
  }

  void send(const Line& line) {
    const std::string text = line.end();
    for (size_t sent = 0; sent < text.size();) {  // one write, unless a signal interrupts it
      const ssize_t wrote = write(fd_, text.data() + sent, text.size() - sent);
      if (wrote < 0 && errno != EINTR) return;
      if (wrote > 0) sent += static_cast<size_t>(wrote);
    }
  }

  const int fd_;
  const pid_t pid_;
  std::mutex mutex_;
  bool in_group_;
  bool any_began_;
  int failures_;        // reported failures of the open case
  const char* result_;  // of the open case, "" until it is known
  std::string open_;    // the case that has begun, or ""
  std::vector<Failure> group_failures_;
  std::vector<Failure> program_failures_;
};

// Returns the descriptor that the environment names, or -1. Programs that the tests start do not inherit it.
int take_events_fd() {
  const char* text = getenv("PROCTOR_EVENTS_FD");
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long fd = strtol(text, &end, 10);
  if (*end != '\0' || fd < 0 || fd > INT32_MAX) return -1;
  const int flags = fcntl(static_cast<int>(fd), F_GETFD);
  if (flags < 0 || fcntl(static_cast<int>(fd), F_SETFD, flags | FD_CLOEXEC) != 0) return -1;
  unsetenv("PROCTOR_EVENTS_FD");
  return static_cast<int>(fd);
}

bool add_listener() {
  const int fd = take_events_fd();
  if (fd < 0) return false;
  testing::UnitTest::GetInstance()->listeners().Append(new ProctorListener(fd));
  return true;
}

const bool kAdded __attribute__((unused)) = add_listener();

}  // namespace
