// How fast a device does something, by its own clock; and the highest speed of its memory, with which the
// speeds of kernels are compared. That speed is measured by a copy within the device; bytes read and bytes
// written both count.
//
// Every sample is judged by what it computed. For any size, the contents repeat one block of words. The
// length of the block is odd, so an address that lost a bit leads to different contents.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "suites/accel/accel.h"

namespace proctor::accel {

// In amounts per nanosecond: GB/s if the amount is bytes, GFLOP/s if it is operations.
struct Speed {
  double median = 0;
  double spread = 0;  // from the slowest sample to the fastest
  int samples = 0;    // 0: a sample took no time, which has been reported
};

// `sample` submits one command, waits, judges the result, and returns the nanoseconds that the command took.
// It is called once to warm up, and then for each sample.
Speed speed_of(double amount, const std::function<double()>& sample);

// How much work the check does for the size of the run; on simulated devices at most `simulated_most`,
// because their speed means nothing and their kernels are interpreted.
std::int64_t sized_for_speed(std::int64_t simulated_most);

// The speed of copies of `bytes` within the device.
Speed copy_ceiling(Queue& queue, const Context& context, std::size_t bytes);

// Reports the measure NAME and, if there is a ceiling, also NAME.share.
void report_value(const std::string& name, const Speed& speed, const std::string& unit);
void report_share(const std::string& name, double bytes_per_amount, const Speed& speed, const Speed& ceiling);

// The block for that many words of memory.
std::vector<std::uint32_t> block_of_noise(std::size_t words, std::uint64_t seed);
// Fills the memory with repetitions of the block. The last one may be incomplete.
void write_repeated(Queue& queue, const Context& context, const Buffer& to,
                    std::span<const std::uint32_t> block);
void expect_repeated(const std::string& what, Queue& queue, const Context& context,
                     std::span<const std::uint32_t> block, const Buffer& from);
// The same of memory of `target` that was copied there, as expect_transfer().
void expect_repeated_transfer(const std::string& what, Queue& queue, const Context& context,
                              std::span<const std::uint32_t> block, const Buffer& copy, const Device& source,
                              const Device& target);

}  // namespace proctor::accel
