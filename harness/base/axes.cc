#include "harness/base/axes.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/base/text.h"

namespace proctor {
namespace {

// A random number generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). The distributions of the
// standard library can differ between implementations. Here a seed returns the same numbers everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t limit) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % limit);
  }

 private:
  std::uint64_t state_;
};

using Row = std::vector<std::size_t>;  // the index of a value on each axis
constexpr int kCandidates = 20;        // number of candidates for each row of the table

class Covering {
 public:
  Covering(const std::vector<Axis>& axes, std::uint64_t seed) : axes_(axes), dice_(seed) {
    offsets_.assign(axes.size() * axes.size(), 0);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      for (std::size_t b = a + 1; b < axes.size(); ++b) {
        offsets_[a * axes.size() + b] = open_.size();
        open_.resize(open_.size() + axes[a].values.size() * axes[b].values.size(), true);
      }
    }
    left_ = open_.size();
  }

  std::size_t left() const { return left_; }

  // Returns the best of kCandidates rows. Each candidate contains a pair that no earlier row contains.
  Row take() {
    Row best;
    std::size_t most = 0;
    for (int i = 0; i < kCandidates; ++i) {
      Row row = candidate();
      const std::size_t gain = gain_of(row);
      if (gain > most) {
        most = gain;
        best = std::move(row);
      }
    }
    close(best);
    return best;
  }

 private:
  static constexpr std::size_t kUnset = static_cast<std::size_t>(-1);

  std::size_t place(std::size_t a, std::size_t value_a, std::size_t b, std::size_t value_b) const {
    if (a > b) return place(b, value_b, a, value_a);
    return offsets_[a * axes_.size() + b] + value_a * axes_[b].values.size() + value_b;
  }

  // Returns how many new pairs this value forms with the values that are already in the row.
  std::size_t gain_with(const Row& row, std::size_t axis, std::size_t value) const {
    std::size_t gain = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (other != axis && row[other] != kUnset && open_[place(axis, value, other, row[other])]) ++gain;
    }
    return gain;
  }

  std::size_t gain_of(const Row& row) const {
    std::size_t twice = 0;
    for (std::size_t axis = 0; axis < row.size(); ++axis) twice += gain_with(row, axis, row[axis]);
    return twice / 2;
  }

  // Begins with a new pair. For each further axis, it chooses the value with the most new pairs.
  Row candidate() {
    Row row(axes_.size(), kUnset);
    start(row);
    Row order(axes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[dice_.below(i)]);
    for (const std::size_t axis : order) {
      if (row[axis] != kUnset) continue;
      const std::size_t values = axes_[axis].values.size();
      const std::size_t first = dice_.below(values);
      row[axis] = first;
      for (std::size_t i = 1; i < values; ++i) {
        const std::size_t value = (first + i) % values;
        if (gain_with(row, axis, value) > gain_with(row, axis, row[axis])) row[axis] = value;
      }
    }
    return row;
  }

  void start(Row& row) {
    std::size_t at = dice_.below(open_.size());
    while (!open_[at]) at = (at + 1) % open_.size();
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a + 1; b < axes_.size(); ++b) {
        const std::size_t first = offsets_[a * axes_.size() + b];
        const std::size_t width = axes_[b].values.size();
        if (at < first || at >= first + axes_[a].values.size() * width) continue;
        row[a] = (at - first) / width;
        row[b] = (at - first) % width;
      }
    }
  }

  void close(const Row& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        const std::size_t pair = place(a, row[a], b, row[b]);
        if (open_[pair]) --left_;
        open_[pair] = false;
      }
    }
  }

  const std::vector<Axis>& axes_;
  Dice dice_;
  std::vector<std::size_t> offsets_;  // the first index in open_ of each pair of axes a < b
  std::vector<bool> open_;            // pairs that no row contains yet
  std::size_t left_ = 0;
};

// Returns one row for each value of a single axis. The first and the last value come first. The seed
// determines the order of the others.
std::vector<std::vector<std::string>> values_of(const Axis& axis, std::uint64_t seed) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& value : axis.values) rows.push_back({value});
  if (rows.size() > 2) std::swap(rows[1], rows.back());
  Dice dice(seed);
  for (std::size_t i = rows.size(); i > 3; --i) std::swap(rows[i - 1], rows[2 + dice.below(i - 2)]);
  return rows;
}

}  // namespace

PairTable cover_pairs(const std::vector<Axis>& axes, std::uint64_t seed, std::size_t most_rows) {
  PairTable table;
  if (axes.empty()) return {.rows = {{}}};
  if (axes.size() == 1) {
    table = {.rows = values_of(axes[0], seed), .covered = 0, .pairs = axes[0].values.size()};
    table.rows.resize(std::min(table.rows.size(), most_rows));
    table.covered = table.rows.size();
    return table;
  }
  Covering covering(axes, seed);
  table.pairs = covering.left();
  while (covering.left() > 0 && table.rows.size() < most_rows) {
    std::vector<std::string>& row = table.rows.emplace_back();
    const Row places = covering.take();
    for (std::size_t i = 0; i < axes.size(); ++i) row.push_back(axes[i].values[places[i]]);
  }
  table.covered = table.pairs - covering.left();
  return table;
}

std::string point_text(const std::vector<Axis>& axes, const std::vector<std::string>& row) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) text += (i == 0 ? "" : ",") + axes[i].name + "=" + row[i];
  return text;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_point(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> point;
  std::set<std::string> named;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == part.npos || equals + 1 == part.size())
      return Error::refused("--suite-arg point must be AXIS=VALUE,... (got `" + part + "`)",
                            "For example bytes=65537,offset=3.");
    point.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    if (!named.insert(point.back().first).second)
      return Error::refused("--suite-arg point names the axis `" + point.back().first + "` twice");
    at = end + 1;
  }
  return point;
}

Result<std::vector<Axis>> axes_at(std::vector<Axis> axes, const std::string& point,
                                  const std::string& whose) {
  const auto parts = parse_point(point);
  if (!parts) return parts.error();
  for (const auto& [name, value] : *parts) {
    const auto axis = std::find_if(axes.begin(), axes.end(),
                                   [&wanted = name](const Axis& one) { return one.name == wanted; });
    if (axis == axes.end()) {
      std::vector<std::string> names;
      for (const Axis& one : axes) names.push_back(one.name);
      return Error::refused("--suite-arg point=" + point + ": " + whose + " has no axis `" + name + "`",
                            names.empty() ? "It has no axes." : suggestion(name, names, "axes"));
    }
    std::vector<std::string> values = axis->values;
    values.insert(values.end(), axis->full.begin(), axis->full.end());
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      return Error::refused("--suite-arg point=" + point + ": the axis `" + name + "` of " + whose +
                                " has no value `" + value + "`",
                            suggestion(value, values, "values"));
    }
    axis->values = {value};
    axis->full.clear();
  }
  return axes;
}

std::vector<Axis> full_axes(std::vector<Axis> axes) {
  for (Axis& axis : axes) axis.values.insert(axis.values.end(), axis.full.begin(), axis.full.end());
  return axes;
}

}  // namespace proctor
