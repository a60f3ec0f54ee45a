#include "suites/collectives/frame.h"

#include <algorithm>
#include <cstring>

#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

constexpr std::size_t kMargin = 64;
constexpr std::byte kMarginByte{0xa5};
constexpr std::byte kUnwritten{0xc3};  // what the output holds before

bool is_margin(std::byte byte) { return byte == kMarginByte; }

// Operations whose input in place is a part of the output, and the reverse.
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

// Only a root has an input to scatter in place.
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
                     what + ": the input is what it was");
}

}  // namespace proctor::collectives
