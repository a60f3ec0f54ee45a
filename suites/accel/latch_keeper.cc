#include "suites/accel/latch_keeper.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

constexpr const char* kStuck = "a call behind a closed latch waits for the latch";

void store(std::uint32_t& word) {
  std::atomic_ref(word).store(1, std::memory_order_release);
  std::atomic_ref(word).notify_all();
}

}  // namespace

LatchKeeper::LatchKeeper(std::uint32_t& word, std::chrono::milliseconds limit)
    : word_(word), limit_(limit), thread_([this](const std::stop_token& opened) { wait(opened); }) {}

void LatchKeeper::wait(const std::stop_token& opened) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any changed;
  if (changed.wait_for(lock, opened, limit_, [&] { return opened.stop_requested(); })) return;
  if (suite::in_helper()) {
    suite::answer({{"error", kStuck}});
    _exit(1);  // the blocked thread cannot be ended
  }
  late_ = true;
  store(word_);
}

void LatchKeeper::open() {
  thread_.request_stop();
  store(word_);
  if (late_.exchange(false)) suite::report({.message = kStuck});
}

}  // namespace proctor::accel
