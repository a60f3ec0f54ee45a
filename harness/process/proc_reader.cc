#include "harness/process/proc_reader.h"

#include <signal.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "harness/base/read_file.h"

namespace proctor {

// Belongs to the thread and to who waits for it, whoever goes last.
struct ProcReader::Reading {
  explicit Reading(pid_t of) : pid(of) {}

  const pid_t pid;
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::string>> answer;

  bool is_over() {
    const std::lock_guard lock(mutex);
    return answer.has_value();
  }
};

namespace {

// No signal is ever handled there. False: no thread can be had.
template <typename Body>
bool start_thread(Body body) {
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  bool started = true;
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  return started;
}

}  // namespace

Result<std::string> ProcReader::read(pid_t pid, const std::string& name) {
  std::erase_if(left_behind_, [](const auto& reading) { return reading->is_over(); });
  const Error late = Error::system("read " + name + " of process " + std::to_string(pid), ETIMEDOUT);
  for (const auto& reading : left_behind_) {
    if (reading->pid == pid) return late;
  }
  if (left_behind_.size() == kMostLeftBehind) return late;
  const auto reading = std::make_shared<Reading>(pid);
  const bool started = start_thread([reading, path = "/proc/" + std::to_string(pid) + "/" + name] {
    auto text = read_file(path);
    const std::lock_guard lock(reading->mutex);
    reading->answer.emplace(std::move(text));
    reading->answered.notify_one();
  });
  if (!started) return late;
  std::unique_lock lock(reading->mutex);
  if (reading->answered.wait_for(lock, patience_, [&] { return reading->answer.has_value(); }))
    return *std::move(reading->answer);
  left_behind_.push_back(reading);
  return late;
}

}  // namespace proctor
