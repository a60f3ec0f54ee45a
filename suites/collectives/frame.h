// The memory that an operation works on: input and output, each between two margins to which nobody may
// write. In place, both lie in one frame.
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

  // The contents. Use it before lend() and after take_back().
  std::byte* data() { return image_.data() + begin_; }
  const std::byte* data() const { return image_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool margins_are_untouched() const;

  // Lends the memory to a library that takes `memory`. The library finds it at address() until take_back().
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
  std::byte* out() const;  // null if this rank gets nothing
  void take_back();

  Bytes result() const;
  // Reports if something was written beside the output, or to an input that is not also the output.
  void expect_untouched(const std::string& what) const;

 private:
  std::size_t own_part() const;  // bytes before it
  std::size_t begin_of_result() const;

  const Exercise& exercise_;
  int rank_;
  std::size_t out_bytes_;
  Bytes input_;
  bool shared_;  // input and output share one frame
  Frame in_;
  Frame out_;
};

}  // namespace proctor::collectives
