// What a check is tried with. A check says its rule once; its axes say with which sizes, types, offsets ... it is
// tried. A point names one value of each axis. Not all points are tried: defects sit in single values and in pairs
// of values, so the table of a check holds each pair of values of two axes at least once (all-pairs testing; D. M.
// Cohen et al., "The AETG System", IEEE Transactions on Software Engineering 23-7, 1997). Example:
//
//   const std::vector<Axis> axes = {{"bytes", {"0", "1", "65537"}, {}}, {"offset", {"0", "1", "3"}, {}}};
//   const PairTable table = cover_pairs(axes, /*seed=*/0, /*most_rows=*/4);
//   point_text(axes, table.rows[0]);  // "bytes=65537,offset=1", as --suite-arg point takes it
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

struct Axis {
  std::string name{};
  std::vector<std::string> values{};
  std::vector<std::string> full{};  // and these under size=full and stress: they take long, or much memory

  friend bool operator==(const Axis&, const Axis&) = default;
};

struct PairTable {
  std::vector<std::vector<std::string>> rows{};  // a value for each axis; no row twice
  std::size_t covered = 0;  // how many pairs the rows hold; of a single axis, how many values
  std::size_t pairs = 0;    // of how many that there are
};

// The rows that hold most pairs come first, so the beginning of a table is the best of its length. The same axes
// and seed give the same table on every machine; `full` is not looked at. A table of no axes has one empty row.
PairTable cover_pairs(const std::vector<Axis>& axes, std::uint64_t seed,
                      std::size_t most_rows = static_cast<std::size_t>(-1));

std::string point_text(const std::vector<Axis>& axes, const std::vector<std::string>& row);

// Reads a point: "bytes=65537,offset=3".
Result<std::vector<std::pair<std::string, std::string>>> parse_point(const std::string& text);

// The axes with no other value than the point's on each axis that it names. An axis or a value that does not exist is
// an error with the near miss; `whose` is for its message.
Result<std::vector<Axis>> axes_at(std::vector<Axis> axes, const std::string& point, const std::string& whose);

// The axes under size=full and stress.
std::vector<Axis> full_axes(std::vector<Axis> axes);

}  // namespace proctor
