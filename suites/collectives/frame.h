// The memory that an operation works on: input and output, each between two margins that nobody may write to,
// or, in place, both in one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "suites/collectives/memory_space.h"
#include "suites/collectives/rule.h"

namespace proctor::collectives {

class Frame {
 public:
  // `bytes` of memory at `offset` bytes behind an aligned address.
  Frame(std::size_t bytes, std::size_t offset);

  // Before lend() and after take_back(): what is there.
  std::byte* data() { return image_.data() + begin_; }
  const std::byte* data() const { return image_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool margins_are_untouched() const;

  // To a library that takes `memory`, which finds it at address() until it is taken back.
  void lend(MemorySpace& space, Memory memory);
  std::byte* address() const { return lent_->data() + begin_; }
  void take_back();

 private:
  Bytes image_;
  std::size_t begin_ = 0;
  std::size_t bytes_ = 0;
  std::optional<Tensor> lent_;
};

class Frames {
 public:
  // `rank` gives `input` and gets `out_bytes`, maybe none.
  Frames(const Exercise& exercise, int rank, std::size_t out_bytes, const Bytes& input);

  void lend(MemorySpace& space, Memory memory);
  const std::byte* in() const;
  std::byte* out() const;  // null where this rank gets nothing
  void take_back();

  Bytes result() const;
  // Reports when something was written beside the output, or to an input of its own.
  void expect_untouched(const std::string& what) const;

 private:
  std::size_t own_part() const;  // bytes before it
  std::size_t begin_of_result() const;

  const Exercise& exercise_;
  int rank_;
  std::size_t out_bytes_;
  Bytes input_;
  bool shared_;  // in and out in one frame
  Frame in_;
  Frame out_;
};

}  // namespace proctor::collectives
