// The parameters of a check and the combinations that are run. A check states one rule. Each of its axes is a
// parameter with a list of values: sizes, types, offsets. A point selects one value of each axis.
// Not all points are run. Most defects depend on a single value or on a pair of values. Therefore the table
// of a check contains each pair of values of two axes at least once. This is all-pairs testing (D. M. Cohen
// et al., "The AETG System", IEEE Transactions on Software Engineering 23-7, 1997). Example:
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

// One parameter of a check.
struct Axis {
  std::string name{};
  std::vector<std::string> values{};
  // more values for size=full and size=stress, which need much time or memory
  std::vector<std::string> full{};

  friend bool operator==(const Axis&, const Axis&) = default;
};

// The rows of a check, and how many pairs they cover.
struct PairTable {
  std::vector<std::vector<std::string>> rows{};  // one value of each axis; no row occurs twice
  std::size_t covered = 0;  // number of pairs in the rows; for a single axis, number of values
  std::size_t pairs = 0;    // number of pairs that exist; for a single axis, number of values
};

// Returns a table of at most `most_rows` rows. The rows with the most new pairs come first, so that a
// shortened table keeps the best rows. The same axes and seed return the same table on every machine. `full`
// is not used. A table without axes has one empty row.
PairTable cover_pairs(const std::vector<Axis>& axes, std::uint64_t seed,
                      std::size_t most_rows = static_cast<std::size_t>(-1));

std::string point_text(const std::vector<Axis>& axes, const std::vector<std::string>& row);

// Parses a point: "bytes=65537,offset=3".
Result<std::vector<std::pair<std::string, std::string>>> parse_point(const std::string& text);

// Returns the axes, reduced to the value of the point on each axis that the point names. An unknown axis or
// value is an error, whose hint is the most similar name. `whose` is the owner of the axes in the error
// message.
Result<std::vector<Axis>> axes_at(std::vector<Axis> axes, const std::string& point, const std::string& whose);

// Returns the axes with the values of size=full and size=stress.
std::vector<Axis> full_axes(std::vector<Axis> axes);

}  // namespace proctor
