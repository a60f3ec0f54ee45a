#include "suites/collectives/rule.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

std::uint64_t mix(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

// Adjacent ranks and rounds differ in the last four bits only, because the narrowest types have no more bits.
std::int64_t summand(Type type, std::uint64_t rank, std::uint64_t round, std::size_t index, int bits) {
  const auto low = (index + 5 * rank + 3 * round) % 16;
  const auto high = mix(mix(rank * 1009 + round) + index) << 4;
  const auto value = (high | low) & ((std::uint64_t{1} << bits) - 1);
  const auto middle = facts_of(type).is_signed ? std::int64_t{1} << (bits - 1) : 0;
  return static_cast<std::int64_t>(value) - middle;
}

std::int64_t reduced(const Exercise& exercise, int size, std::size_t index) {
  std::int64_t result = element(exercise, 0, size, index);
  for (int rank = 1; rank < size; ++rank) {
    const std::int64_t next = element(exercise, rank, size, index);
    switch (exercise.reduction) {
      case Reduction::kSum:
      case Reduction::kAverage:
        result += next;
        break;
      case Reduction::kProduct:
        result *= next;
        break;
      case Reduction::kMin:
        result = std::min(result, next);
        break;
      case Reduction::kMax:
        result = std::max(result, next);
        break;
    }
  }
  return exercise.reduction == Reduction::kAverage ? result / size : result;
}

// Appends `count` elements of the input of `rank`, from index `first` on.
void append_part(std::vector<std::int64_t>& numbers, const Exercise& exercise, int rank, int size,
                 std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(element(exercise, rank, size, first + i));
}

void append_reduced(std::vector<std::int64_t>& numbers, const Exercise& exercise, int size,
                    std::size_t first) {
  for (std::size_t i = 0; i < exercise.count; ++i) numbers.push_back(reduced(exercise, size, first + i));
}

std::vector<std::int64_t> expected_numbers(const Exercise& exercise, int rank, int size) {
  std::vector<std::int64_t> numbers;
  const std::size_t own = static_cast<std::size_t>(rank) * exercise.count;
  switch (exercise.operation) {
    case Operation::kAllReduce:
    case Operation::kReduce:
      append_reduced(numbers, exercise, size, 0);
      break;
    case Operation::kReduceScatter:
      append_reduced(numbers, exercise, size, own);
      break;
    case Operation::kBroadcast:
      append_part(numbers, exercise, exercise.root, size, 0, exercise.count);
      break;
    case Operation::kScatter:
      append_part(numbers, exercise, exercise.root, size, own, exercise.count);
      break;
    case Operation::kAllGather:
    case Operation::kGather:
      for (int from = 0; from < size; ++from) append_part(numbers, exercise, from, size, 0, exercise.count);
      break;
    case Operation::kAllToAll:
      for (int from = 0; from < size; ++from) append_part(numbers, exercise, from, size, own, exercise.count);
      break;
    case Operation::kAllGatherv:
      for (int from = 0; from < size; ++from) {
        append_part(numbers, exercise, from, size, 0, input_elements(exercise, from, size));
      }
      break;
    case Operation::kAllToAllv:
      for (int from = 0; from < size; ++from) {
        const auto sends = sends_of(exercise, from, size);
        const auto first = std::accumulate(sends.begin(), sends.begin() + rank, std::size_t{0});
        append_part(numbers, exercise, from, size, first, sends[static_cast<std::size_t>(rank)]);
      }
      break;
    case Operation::kSend:
    case Operation::kReceive:
    case Operation::kBarrier:
      break;
  }
  return numbers;
}

Bytes as_bytes(Type type, const std::vector<std::int64_t>& numbers) {
  Bytes bytes(numbers.size() * bytes_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i) put(type, &bytes[i * bytes_of(type)], numbers[i]);
  return bytes;
}

}  // namespace

std::int64_t element(const Exercise& exercise, int rank, int size, std::size_t index) {
  const auto r = static_cast<std::uint64_t>((rank + exercise.turn) % size);
  const auto round = static_cast<std::uint64_t>(exercise.round);
  const int digits = facts_of(exercise.type).digits;
  if (reduces(exercise.operation) && exercise.reduction == Reduction::kProduct) {
    // The value is 1, 2 or 3. The square makes the product differ from round to round for three ranks, too.
    return static_cast<std::int64_t>(1 + (index + r * r + round) % 3);
  }
  if (reduces(exercise.operation) && exercise.reduction == Reduction::kAverage) {
    return size * summand(exercise.type, r, round, index, std::max(digits - 6, 2));
  }
  return summand(exercise.type, r, round, index, digits - 3);
}

std::vector<std::size_t> sends_of(const Exercise& exercise, int rank, int size) {
  std::vector<std::size_t> sends;
  if (exercise.counts.empty()) return sends;
  for (int to = 0; to < size; ++to) {
    sends.push_back(exercise.counts.at(static_cast<std::size_t>((rank + to) % size)));
  }
  return sends;
}

std::vector<std::size_t> receives_of(const Exercise& exercise, int rank, int size) {
  if (exercise.operation == Operation::kAllGatherv) return exercise.counts;
  return sends_of(exercise, rank, size);  // the counts are symmetric: r sends to p as many elements as p to r
}

std::size_t input_elements(const Exercise& exercise, int rank, int size) {
  const auto n = static_cast<std::size_t>(size);
  switch (exercise.operation) {
    case Operation::kAllReduce:
    case Operation::kReduce:
    case Operation::kAllGather:
    case Operation::kGather:
      return exercise.count;
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return n * exercise.count;
    case Operation::kBroadcast:
      return rank == exercise.root ? exercise.count : 0;
    case Operation::kScatter:
      return rank == exercise.root ? n * exercise.count : 0;
    case Operation::kAllGatherv:
      return exercise.counts.at(static_cast<std::size_t>(rank));
    case Operation::kAllToAllv:
      return sum(exercise.counts);
    case Operation::kSend:
    case Operation::kReceive:
    case Operation::kBarrier:
      return 0;
  }
  return 0;
}

std::size_t output_elements(const Exercise& exercise, int rank, int size) {
  const auto n = static_cast<std::size_t>(size);
  switch (exercise.operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kBroadcast:
    case Operation::kScatter:
      return exercise.count;
    case Operation::kReduce:
      return rank == exercise.root ? exercise.count : 0;
    case Operation::kAllGather:
    case Operation::kAllToAll:
      return n * exercise.count;
    case Operation::kGather:
      return rank == exercise.root ? n * exercise.count : 0;
    case Operation::kAllGatherv:
    case Operation::kAllToAllv:
      return sum(exercise.counts);
    case Operation::kSend:
    case Operation::kReceive:
    case Operation::kBarrier:
      return 0;
  }
  return 0;
}

Bytes input_of(const Exercise& exercise, int rank, int size) {
  std::vector<std::int64_t> numbers;
  append_part(numbers, exercise, rank, size, 0, input_elements(exercise, rank, size));
  return as_bytes(exercise.type, numbers);
}

Bytes expected(const Exercise& exercise, int rank, int size) {
  if (output_elements(exercise, rank, size) == 0) return {};
  return as_bytes(exercise.type, expected_numbers(exercise, rank, size));
}

namespace {

constexpr std::size_t kMargin = 64;
constexpr std::byte kMarginByte{0xa5};
constexpr std::byte kUnwritten{0xc3};  // initial contents of the output

bool is_margin(std::byte byte) { return byte == kMarginByte; }

// Operations whose in-place input is a part of the output, and the reverse.
bool gathers(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kGather;
}
bool scatters(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kScatter;
}

}  // namespace

Frame::Frame(std::size_t bytes, std::size_t offset)
    : image_(kMargin + offset + bytes + kMargin, kMarginByte), begin_(kMargin + offset), bytes_(bytes) {
  std::fill_n(data(), bytes_, kUnwritten);
}

bool Frame::margins_are_untouched() const {
  const auto begin = image_.begin() + static_cast<std::ptrdiff_t>(begin_);
  return std::all_of(image_.begin(), begin, is_margin) &&
         std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), image_.end(), is_margin);
}

void Frame::lend(MemorySpace& space, Memory memory) { lent_.emplace(space, memory, image_); }

void Frame::take_back() {
  image_ = lent_->bytes();
  lent_.reset();
}

Frames::Frames(const Exercise& exercise, int rank, std::size_t out_bytes, const Bytes& input)
    : exercise_(exercise),
      rank_(rank),
      out_bytes_(out_bytes),
      input_(input),
      shared_(exercise.in_place && out_bytes > 0),
      in_(shared_ ? 0 : input.size(), exercise.offset * bytes_of(exercise.type)),
      out_(shared_ ? std::max(out_bytes, input.size()) : out_bytes,
           exercise.offset * bytes_of(exercise.type)) {
  if (input_.empty()) return;
  std::byte* const to = !shared_ ? in_.data() : out_.data() + (gathers(exercise.operation) ? own_part() : 0);
  std::memcpy(to, input_.data(), input_.size());
}

void Frames::lend(MemorySpace& space, Memory memory) {
  in_.lend(space, memory);
  out_.lend(space, memory);
}

void Frames::take_back() {
  in_.take_back();
  out_.take_back();
}

std::size_t Frames::own_part() const {
  return static_cast<std::size_t>(rank_) * exercise_.count * bytes_of(exercise_.type);
}

// Only a root has an input for an in-place scatter.
std::size_t Frames::begin_of_result() const {
  return shared_ && scatters(exercise_.operation) && !input_.empty() ? own_part() : 0;
}

const std::byte* Frames::in() const {
  if (!shared_) return in_.address();
  return out_.address() + (gathers(exercise_.operation) ? own_part() : 0);
}

std::byte* Frames::out() const {
  if (out_bytes_ == 0 && exercise_.count != 0) return nullptr;
  return out_.address() + begin_of_result();
}

Bytes Frames::result() const {
  if (out_bytes_ == 0) return {};
  const std::byte* begin = out_.data() + begin_of_result();
  return {begin, begin + out_bytes_};
}

void Frames::expect_untouched(const std::string& what) const {
  suite::expect_true(in_.margins_are_untouched() && out_.margins_are_untouched(),
                     what + ": the memory before and behind the buffers is untouched");
  if (shared_ || input_.empty()) return;
  suite::expect_true(std::memcmp(in_.data(), input_.data(), input_.size()) == 0,
                     what + ": the input is unchanged");
}

}  // namespace proctor::collectives
