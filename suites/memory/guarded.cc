#include "suites/memory/guarded.h"

#include <algorithm>

#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr std::size_t kGuard = 128;
constexpr std::size_t kSizes[] = {4096, 1, 3, 255, 4095, 4097, 65537};

void set(Queue& queue, const Context& context, const Buffer& buffer, MemoryKind kind,
         std::span<const std::byte> bytes) {
  if (kind == MemoryKind::kDevice) return write(queue, context, buffer.data(), bytes);
  std::copy(bytes.begin(), bytes.end(), buffer.data());
}

std::vector<std::byte> get(Queue& queue, const Context& context, const Buffer& buffer, MemoryKind kind) {
  if (kind == MemoryKind::kDevice) return read_bytes(queue, context, buffer.data(), buffer.bytes());
  return {buffer.data(), buffer.data() + buffer.bytes()};
}

}  // namespace

PointPlaces::PointPlaces(const Device& device) {
  for (const Device& place : with_tiles(device)) places_.emplace_back(place);
}

const Context& PointPlaces::at(std::size_t number) {
  const std::size_t place = number % places_.size();
  if (place > 0) tried_.insert(place);
  return places_[place];
}

void PointPlaces::record() const {
  if (places_.size() > 1) suite::measure("covered.tiles", static_cast<double>(tried_.size()), "tiles");
}

Axis guarded_bytes() {
  Axis axis = suite::axis::bytes();
  axis.full = {"8388611"};
  return axis;
}

void copy_between_guards(const Context& context, const Route& route, std::size_t bytes) {
  Queue queue(context, route.mode);
  const std::size_t room = bytes + 3 * kGuard;
  Buffer from(context, {.kind = route.from, .bytes = room});
  Buffer to(context, {.kind = route.to, .bytes = room});
  const auto before = noise(room, 1);
  const auto sent = noise(room, 2);
  set(queue, context, to, route.to, before);
  set(queue, context, from, route.from, sent);

  const std::size_t source = kGuard + route.from_offset;
  const std::size_t begin = kGuard + route.to_offset;
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

void copy_all_alignments(const Context& context, MemoryKind from_kind, MemoryKind to_kind) {
  constexpr std::size_t kShifts = 16;
  constexpr std::size_t kSlot = 64;
  constexpr std::size_t kRoom = kShifts * kShifts * kSlot;
  Queue queue(context);
  Buffer from(context, {.kind = from_kind, .bytes = kRoom});
  Buffer to(context, {.kind = to_kind, .bytes = kRoom});
  const auto sent = noise(kRoom, 1);
  auto expected = noise(kRoom, 2);
  set(queue, context, from, from_kind, sent);
  set(queue, context, to, to_kind, expected);
  for (std::size_t pair = 0; pair < kShifts * kShifts; ++pair) {
    const std::size_t source = pair * kSlot + pair % kShifts;
    const std::size_t target = pair * kSlot + pair / kShifts;
    const std::size_t bytes = 1 + pair * 7 % 47;
    queue.copy(to.data() + target, from.data() + source, bytes);
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(source), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(target));
  }
  queue.synchronize();
  expect_bytes(std::string("copies from ") + to_string(from_kind) + " to " + to_string(to_kind) +
                   " memory, 64 bytes for each pair of alignments",
               expected, get(queue, context, to, to_kind), context.device());
}

void fill_between_guards(const Context& context, const FillShape& shape) {
  Queue queue(context, shape.mode);
  const std::size_t begin = kGuard + shape.offset;
  auto expected = noise(begin + shape.bytes + kGuard, 1);
  const auto pattern = noise(shape.pattern, 2);
  const auto buffer = device_copy(queue, context, expected);
  queue.fill(buffer.data() + begin, pattern, shape.bytes);
  queue.synchronize();

  for (std::size_t i = 0; i < shape.bytes; ++i) expected[begin + i] = pattern[i % shape.pattern];
  expect_bytes("fill of " + std::to_string(shape.bytes) + " bytes with a pattern of " +
                   std::to_string(shape.pattern) + ", " + std::to_string(shape.offset) + " bytes inside",
               expected, read_bytes(queue, context, buffer.data(), buffer.bytes()), context.device());
}

}  // namespace proctor::accel
