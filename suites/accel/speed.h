// Measures the speed of a device with its own clock. It also measures the peak speed of the device memory,
// with which the speeds of kernels are compared. The peak is measured with a copy within the device; bytes
// read and bytes written both count.
//
// The result of every sample is verified. Memory of any size contains repetitions of one block of words. The
// length of the block is odd, so an address with a lost bit leads to different contents.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "suites/accel/accel.h"

namespace proctor::accel {

// Amounts per nanosecond: GB/s if the amount is bytes, GFLOP/s if it is operations.
struct Speed {
  double median = 0;
  double spread = 0;  // difference between the slowest and the fastest sample
  int samples = 0;    // 0: a sample took no time, which was reported
};

// Measures a speed. `sample` submits one command, waits, verifies the result, and returns the duration of the
// command in nanoseconds. It is called once to warm up, and then for each sample.
Speed speed_of(double amount, const std::function<double()>& sample);

// Returns the amount of work of the check for the size of the run. On simulated devices it is at most
// `simulated_most`, because their kernels are interpreted and their speed has no meaning.
std::int64_t sized_for_speed(std::int64_t simulated_most);

// Returns the speed of copies of `bytes` within the device.
Speed copy_ceiling(Queue& queue, const Context& context, std::size_t bytes);

// Report the measure NAME and, if there is a peak speed, also NAME.share.
void report_value(const std::string& name, const Speed& speed, const std::string& unit);
void report_share(const std::string& name, double bytes_per_amount, const Speed& speed, const Speed& ceiling);

// Returns a block for memory of `words` words.
std::vector<std::uint32_t> block_of_noise(std::size_t words, std::uint64_t seed);
// Fills the memory with repetitions of the block. The last one may be incomplete.
void write_repeated(Queue& queue, const Context& context, const Buffer& to,
                    std::span<const std::uint32_t> block);
void expect_repeated(const std::string& what, Queue& queue, const Context& context,
                     std::span<const std::uint32_t> block, const Buffer& from);
// Verifies memory of `target` that was copied from `source`, like expect_transfer().
void expect_repeated_transfer(const std::string& what, Queue& queue, const Context& context,
                              std::span<const std::uint32_t> block, const Buffer& copy, const Device& source,
                              const Device& target);

}  // namespace proctor::accel
