// How fast a device does a thing, by its own clock; and the fastest that its memory can be, which
// is what the speeds of kernels are compared with: a copy within the device, of which the bytes
// read and the bytes written count.
//
// Every sample is judged by what it computed. That is done for any size by contents that repeat one block of
// words: its length is odd, so an address that lost a bit finds other contents.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "suites/accel/accel.h"

namespace proctor::accel {

// In amounts a nanosecond: GB/s where the amount is bytes, GFLOP/s where it is operations.
struct Speed {
  double median = 0;
  double spread = 0;  // from the slowest sample to the fastest
  int samples = 0;    // 0: a sample took no time, which has been reported
};

// `sample` submits one command, waits, judges what came of it, and tells the nanoseconds that the command
// took. It is called once to warm up, and then for each sample.
Speed speed_of(double amount, const std::function<double()>& sample);

// How much the check does under the run's size; on simulated devices at most `simulated_most`, because their
// speed means nothing and their kernels are interpreted.
std::int64_t sized_for_speed(std::int64_t simulated_most);

// The speed of copies of `bytes` within the device.
Speed copy_ceiling(Queue& queue, const Context& context, std::size_t bytes);

// The measure NAME, and with a ceiling also NAME.share.
void tell(const std::string& name, const Speed& speed, const std::string& unit);
void tell_share(const std::string& name, double bytes_per_amount, const Speed& speed, const Speed& ceiling);

// The block for that many words of memory.
std::vector<std::uint32_t> block_of_noise(std::size_t words, std::uint64_t seed);
// The memory holds the block's words again and again, the last time perhaps not all of them.
void write_repeated(Queue& queue, const Context& context, const Buffer& to,
                    std::span<const std::uint32_t> block);
void expect_repeated(const std::string& what, Queue& queue, const Context& context,
                     std::span<const std::uint32_t> block, const Buffer& from);

}  // namespace proctor::accel
