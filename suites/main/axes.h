// Axes that several checks share: the values at which drivers and cards have been wrong before (docs/axes.md). What
// only one check needs it says itself.
//
// The pages of a driver are 4 KiB, 64 KiB or 2 MiB; simgpu's are 64 KiB.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/axes.h"

namespace proctor::suite::axis {

// Sizes in bytes: none, one, odd ones, and those around the ends of pages; beyond what 32 bits count only when all is
// tried.
inline Axis bytes(std::string name = "bytes") {
  return {std::move(name),
          {"0", "1", "3", "4095", "4096", "4097", "65535", "65536", "65537", "262147", "2097152", "2097153"},
          {"67108867", "4294967301"}};
}

// Where in a line of 16 bytes something begins.
inline Axis offset(std::string name = "offset") {
  return {std::move(name), {"0", "1", "2", "3", "4", "5", "7", "8", "11", "12", "13", "15"}, {}};
}

// Work-items of a group: each power of two, one less, one more, and some that are a multiple of nothing. A device may
// have fewer: `unsupported:group=N`.
inline Axis group(std::string name = "group") {
  return {std::move(name),
          {"1",   "2",   "3",   "7",   "8",   "15",  "16",   "17",   "31",  "32",
           "33",  "63",  "64",  "65",  "100", "127", "128",  "129",  "255", "256",
           "257", "500", "511", "512", "513", "768", "1000", "1023", "1024"},
          {}};
}

// Scalar types of device code, by width and sign. Without fp16 or fp64: `unsupported:fp64`.
inline Axis integer_type(std::string name = "type") {
  return {std::move(name), {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}, {}};
}
inline Axis float_type(std::string name = "type") { return {std::move(name), {"f16", "f32", "f64"}, {}}; }

}  // namespace proctor::suite::axis
