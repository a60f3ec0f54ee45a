// Result<T> is a value or an Error. It is used for expected failures: bad input, a missing file, a refused
// system call. Exceptions never leave a module. (std::expected needs C++23.) Example:
//
//   Result<int> parse_digit(const std::string& text) {
//     if (text.size() != 1 || text[0] < '0' || text[0] > '9')
//       return Error::refused("`" + text + "` is not a digit", "Use one of 0 to 9.");
//     return text[0] - '0';
//   }
//
//   Result<int> parse_sum(const std::string& a, const std::string& b) {
//     const Result<int> first = parse_digit(a);
//     if (!first) return first.error();
//     const Result<int> second = parse_digit(b);
//     if (!second) return second.error();
//     return *first + *second;
//   }
//
// Result<T, E> has a different error type, for example Result<Allocation, MemoryError> with a few fixed
// reasons.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace proctor {

// The class of a failure. It determines the exit code: 2 for a user's mistake, 75 for everything else.
// kUnlisted is a user's mistake as well: the program of a suite does not list its cases, and a run continues
// without the suite. kDamaged is another user's mistake: a file does not contain, or no longer contains,
// valid content.
enum class ErrorKind { kUsage, kUnlisted, kDamaged, kSystem, kInternal };

// `what` completes the words "failed to ..." and begins in lower case: "open proctor.toml: No such file". If
// `is_sentence` is set, `what` is a full sentence without the full stop: "--timeout must be greater than zero
// (got 0s)". `hint` is empty or one full sentence: the near miss or the next command.
struct Error {
  ErrorKind kind = ErrorKind::kSystem;
  std::string what;
  std::string hint;
  int sys_errno = 0;
  bool is_sentence = false;

  // A user's mistake as a sentence: the invalid value, the reason, and the allowed values.
  static Error refused(std::string sentence, std::string hint = {}) {
    return {ErrorKind::kUsage, std::move(sentence), std::move(hint), 0, true};
  }
  // A user's mistake that a failed step detected.
  static Error usage(std::string what, std::string hint = {}) {
    return {ErrorKind::kUsage, std::move(what), std::move(hint), 0};
  }
  static Error usage_of(Error error) {  // the same error as a user's mistake
    error.kind = ErrorKind::kUsage;
    error.sys_errno = 0;
    return error;
  }
  static Error internal(std::string what) { return {ErrorKind::kInternal, std::move(what), {}, 0}; }
  // Appends the text of the errno value `err` to `what`.
  static Error system(std::string what, int err);

  // Returns the text for output, without the hint.
  std::string message() const { return is_sentence ? what : "failed to " + what; }
};

template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(E error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return static_cast<bool>(*this); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

template <typename E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(E error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !error_; }
  bool ok() const { return !error_; }
  const E& error() const { return *error_; }

 private:
  std::optional<E> error_;
};

// ---- Names of errno values and signals ---- glibc provides these names since 2.32. musl does not provide
// them.

std::string errno_name(int err);  // "ENOENT"; the number if the value has no name here
// "SIGKILL"; "" if the signal has no name, for example real-time signals
std::string signal_name(int signal);
std::string errno_words(int err);  // "No such file or directory"

}  // namespace proctor
