#include "harness/runner/schedule/lease_wait.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace proctor {
namespace {

constexpr Milliseconds kRetryEvery{1'000};

}  // namespace

LeaseWait::LeaseWait(boost::asio::io_context& io, Milliseconds longest, std::function<void()> retry)
    : longest_(longest), retry_(std::move(retry)), next_(io), watch_(io) {}

Result<void> LeaseWait::watch(const LeaseDirectory& leases) {
  auto watch = leases.watch();
  if (!watch) return watch.error();
  watch_.assign(watch->release());
  await_change();
  return {};
}

void LeaseWait::await_change() {
  watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const auto& error) {
    if (error) return;
    char events[4096];
    while (read(watch_.native_handle(), events, sizeof events) > 0) {
    }
    retry_();
    await_change();
  });
}

LeaseWait::Step LeaseWait::wait() {
  const auto now = Clock::now();
  const bool began = !std::exchange(waiting_, true);
  if (began) until_ = now + longest_;
  if (now >= until_) return Step::kOver;
  next_.expires_at(std::min(until_, now + kRetryEvery));
  next_.async_wait([this](const auto& error) {
    if (!error) retry_();
  });
  return began ? Step::kBegan : Step::kGoesOn;
}

}  // namespace proctor
