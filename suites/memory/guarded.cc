#include "suites/memory/guarded.h"

#include <algorithm>

#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr std::size_t kGuard = 128;
constexpr std::size_t kSizes[] = {4096, 1, 3, 255, 4095, 4097, 65537};

void set(Queue& queue, const Context& context, const Buffer& buffer, Kind kind,
         std::span<const std::byte> bytes) {
  if (kind == Kind::kDevice) return write(queue, context, buffer.data(), bytes);
  std::copy(bytes.begin(), bytes.end(), buffer.data());
}

std::vector<std::byte> get(Queue& queue, const Context& context, const Buffer& buffer, Kind kind) {
  if (kind == Kind::kDevice) return read_bytes(queue, context, buffer.data(), buffer.bytes());
  return {buffer.data(), buffer.data() + buffer.bytes()};
}

}  // namespace

void copy_between_guards(const Context& context, const Route& route, std::size_t bytes) {
  Queue queue(context, route.mode);
  const std::size_t room = bytes + 2 * kGuard;
  Buffer from(context, {.kind = route.from, .bytes = room});
  Buffer to(context, {.kind = route.to, .bytes = room});
  const auto before = noise(room, 1);
  const auto sent = noise(room, 2);
  set(queue, context, to, route.to, before);
  set(queue, context, from, route.from, sent);

  const std::size_t source = kGuard - route.offset;
  const std::size_t begin = kGuard + route.offset;
  queue.copy(to.data() + begin, from.data() + source, bytes);
  queue.synchronize();

  const auto got = get(queue, context, to, route.to);
  const std::string what = "copy of " + std::to_string(bytes) + " bytes from " + to_string(route.from) +
                           " to " + to_string(route.to) + " memory";
  const auto part = [](const std::vector<std::byte>& all, std::size_t first, std::size_t count) {
    return std::span(all).subspan(first, count);
  };
  const std::size_t end = begin + bytes;
  expect_bytes(what, part(sent, source, bytes), part(got, begin, bytes), context.device());
  expect_bytes(what + ", bytes before it", part(before, 0, begin), part(got, 0, begin), context.device());
  expect_bytes(what + ", bytes behind it", part(before, end, room - end), part(got, end, room - end),
               context.device());
}

void copy_all_sizes(const Route& route) {
  const auto context = leased();
  suite::step(std::string("given a copy from ") + to_string(route.from) + " to " + to_string(route.to) +
              " memory");
  for (const std::size_t bytes : kSizes) copy_between_guards(context, route, bytes);
}

void fill_between_guards(const Context& context, Queue::Mode mode, std::size_t pattern_bytes,
                         std::size_t times) {
  Queue queue(context, mode);
  const std::size_t bytes = pattern_bytes * times;
  const auto before = noise(bytes + 2 * kGuard, 1);
  const auto pattern = noise(pattern_bytes, 2);
  const auto buffer = device_copy(queue, context, before);
  queue.fill(buffer.data() + kGuard, pattern, bytes);
  queue.synchronize();

  auto expected = before;
  for (std::size_t i = 0; i < bytes; ++i) expected[kGuard + i] = pattern[i % pattern_bytes];
  expect_bytes(
      "fill of " + std::to_string(bytes) + " bytes with a pattern of " + std::to_string(pattern_bytes),
      expected, read_bytes(queue, context, buffer.data(), buffer.bytes()), context.device());
}

}  // namespace proctor::accel
