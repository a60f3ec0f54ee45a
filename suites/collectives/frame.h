// The memory that an operation works on: input and output, each between two margins that nobody may write to,
// or, in place, both in one.
#pragma once

#include <cstddef>
#include <string>

#include "suites/collectives/rule.h"

namespace proctor::collectives {

class Frame {
 public:
  // `bytes` of memory at `offset` bytes behind an aligned address.
  Frame(std::size_t bytes, std::size_t offset);

  std::byte* data() { return memory_.data() + begin_; }
  const std::byte* data() const { return memory_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool margins_are_untouched() const;

 private:
  Bytes memory_;
  std::size_t begin_ = 0;
  std::size_t bytes_ = 0;
};

class Frames {
 public:
  // `rank` gives `input` and gets `out_bytes`, maybe none.
  Frames(const Exercise& exercise, int rank, std::size_t out_bytes, const Bytes& input);

  const std::byte* in() const;
  std::byte* out();  // null where this rank gets nothing
  Bytes result() const;

  // Reports when something was written beside the output, or to an input of its own.
  void expect_untouched(const std::string& what) const;

 private:
  std::size_t own_part() const;  // bytes before it

  const Exercise& exercise_;
  int rank_;
  std::size_t out_bytes_;
  Bytes input_;
  bool shared_;  // in and out in one frame
  Frame in_;
  Frame out_;
};

}  // namespace proctor::collectives
