// send and receive: from one rank to another, in order.
#include <fmt/format.h>

#include "suites/collectives/names.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;
using suite::step;

// Of `bytes` bytes, other ones for every sender and number.
Bytes message(int from, int number, std::size_t bytes) {
  Bytes result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 50 + number * 11 + 1));
  }
  return result;
}

void expect_message(World& world, int from, int number, std::size_t bytes, std::uint32_t tag = 0) {
  Bytes got(bytes);
  expect_ok("receive", world.receive(from, got, tag));
  expect_elements(fmt::format("message {} of rank {}", number, from), Type::kU8, message(from, number, bytes),
                  got);
}

void send_message(World& world, int to, int number, std::size_t bytes, std::uint32_t tag = 0) {
  expect_ok("send", world.send(to, message(world.rank(), number, bytes), tag));
}

}  // namespace

// Once around: each rank to the next. Even ranks send first, so nobody waits for itself.
PROCTOR_CHECK(Messages, ArriveAsTheyWereSent, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.truncated_message:api=receive"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  const int next = (world.rank() + 1) % world.size();
  const int last = (world.rank() + world.size() - 1) % world.size();
  int number = 0;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 31, 4096, 65537}) {
    step(fmt::format("given messages of {} bytes to the next rank", bytes));
    ++number;
    if (world.rank() % 2 == 0) send_message(world, next, number, bytes);
    expect_message(world, last, number, bytes);
    if (world.rank() % 2 == 1) send_message(world, next, number, bytes);
  }
}

// One behind the other, none twice and none left out.
PROCTOR_CHECK(Messages, ArriveInOrderAndOnce, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.duplicated_message", "collective.stale_buffer:api=receive"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  step("given thirty messages, one behind the other");
  for (int number = 0; number < 30; ++number) {
    if (world.rank() == 0) {
      send_message(world, 1, number, 100);
    } else {
      expect_message(world, 0, number, 100);
    }
  }
}

// A message of no bytes is a message: it counts, and the next one is whole.
PROCTOR_CHECK(Messages, EmptyOnesCount, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.truncated_message:api=receive,min=8"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world;
  int number = 0;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 8, 0, 0, 513}) {
    step(fmt::format("given a message of {} bytes", bytes));
    if (world.rank() == 0) {
      send_message(world, 1, number++, bytes);
    } else {
      expect_message(world, 0, number++, bytes);
    }
  }
}

// Whoever comes first: each of the others once, and the receiver is told whose it is.
PROCTOR_CHECK(Messages, FromAnyRankSayWhoseTheyAre, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.swapped_ranks:api=receive"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  if (!world.features().any_source) world.skip("unsupported:any_source");
  step("given one message from each of the other ranks");
  if (world.rank() != 0) return send_message(world, 0, 1, 64);
  std::vector<int> came(static_cast<std::size_t>(world.size()));
  for (int other = 1; other < world.size(); ++other) {
    Bytes got(64);
    int from = kAnyRank;
    expect_ok("receive", world.receive(kAnyRank, got, 0, &from));
    expect_elements(fmt::format("the message of rank {}", from), Type::kU8, message(from, 1, 64), got);
    ++came.at(static_cast<std::size_t>(from));
  }
  suite::expect_same("messages from each rank", "0 1 1 1", fmt::format("{}", fmt::join(came, " ")));
}

// Two tags are two streams: each in its own order, whatever the other does.
PROCTOR_CHECK(Messages, TagsKeepThemApart, "C39", "Gloo, docs of transport: slots", kGate,
              .faults = {"collective.duplicated_message"}, .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  if (!world.features().tags) world.skip("unsupported:tags");
  step("given messages under two tags, one after the other");
  for (int number = 0; number < 10; ++number) {
    const std::uint32_t tag = number % 2 == 0 ? 7 : 8;
    if (world.rank() == 0) {
      send_message(world, 1, number, 40, tag);
    } else {
      expect_message(world, 0, number, 40, tag);
    }
  }
}

}  // namespace proctor::collectives
