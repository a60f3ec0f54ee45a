// Implements each operation with Gloo. For data that is only moved, Gloo needs the element size but no type.
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/scatter.h>

#include <cstring>
#include <numeric>

#include "suites/collectives/gloo/group.h"

namespace proctor::collectives {
namespace {

// Calls `act` with a value of Gloo's type. Returns false if Gloo has no such type.
template <typename Act>
bool with_type(Type type, Act act) {
  switch (type) {
    case Type::kI8:
      return act(std::int8_t{}), true;
    case Type::kU8:
      return act(std::uint8_t{}), true;
    case Type::kI32:
      return act(std::int32_t{}), true;
    case Type::kU32:
      return act(std::uint32_t{}), true;
    case Type::kI64:
      return act(std::int64_t{}), true;
    case Type::kU64:
      return act(std::uint64_t{}), true;
    case Type::kF16:
      return act(gloo::float16{}), true;
    case Type::kF32:
      return act(float{}), true;
    case Type::kF64:
      return act(double{}), true;
    case Type::kBf16:
      return false;
  }
  return false;
}

template <typename T>
const gloo::ReductionFunction<T>* typed_reduction(Reduction reduction) {
  using Function = gloo::ReductionFunction<T>;
  switch (reduction) {
    case Reduction::kSum:
      return Function::sum;
    case Reduction::kProduct:
      return Function::product;
    case Reduction::kMin:
      return Function::min;
    case Reduction::kMax:
      return Function::max;
    case Reduction::kAverage:
      return nullptr;
  }
  return nullptr;
}

using Untyped = void (*)(void*, const void*, const void*, std::size_t);

Untyped untyped_reduction(Type type, Reduction reduction) {
  Untyped function = nullptr;
  with_type(type, [&]<typename T>(T) {
    switch (reduction) {
      case Reduction::kSum:
        function = &gloo::sum<T>;
        break;
      case Reduction::kProduct:
        function = &gloo::product<T>;
        break;
      case Reduction::kMin:
        function = &gloo::min<T>;
        break;
      case Reduction::kMax:
        function = &gloo::max<T>;
        break;
      case Reduction::kAverage:
        break;
    }
  });
  return function;
}

// Gloo's templates need a type only for its size.
template <typename Act>
void with_size(Type type, Act act) {
  switch (bytes_of(type)) {
    case 1:
      return act(std::uint8_t{});
    case 2:
      return act(std::uint16_t{});
    case 4:
      return act(std::uint32_t{});
    default:
      return act(std::uint64_t{});
  }
}

// Gloo's parameters for read-only input are not const.
template <typename T>
T* input(const Call& call) {
  return const_cast<T*>(static_cast<const T*>(call.in));
}
template <typename T>
T* output(const Call& call) {
  return static_cast<T*>(call.out);
}

std::vector<std::int64_t> as_int64(const std::vector<std::size_t>& counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

bool gloo_supports(Operation operation, Type type, Reduction reduction) {
  return !reduces(operation) || untyped_reduction(type, reduction) != nullptr;
}

void GlooGroup::execute(const Call& call) {
  if (call.operation != Operation::kSend && call.operation != Operation::kReceive) ++tag_;
  switch (call.operation) {
    case Operation::kAllReduce:
      return all_reduce(call);
    case Operation::kAllGather:
      return all_gather(call);
    case Operation::kAllGatherv:
      return all_gatherv(call);
    case Operation::kReduceScatter:
      return reduce_scatter(call);
    case Operation::kBroadcast:
      return broadcast(call);
    case Operation::kReduce:
      return reduce(call);
    case Operation::kGather:
      return gather(call);
    case Operation::kScatter:
      return scatter(call);
    case Operation::kAllToAll:
      return all_to_all(call);
    case Operation::kAllToAllv:
      return all_to_allv(call);
    case Operation::kSend:
      return send(call);
    case Operation::kReceive:
      return receive(call);
    case Operation::kBarrier:
      return barrier();
  }
}

void GlooGroup::all_reduce(const Call& call) {
  gloo::AllreduceOptions options(context_);
  with_size(call.type, [&]<typename T>(T) {
    if (call.in != call.out) options.setInput(input<T>(call), call.count);
    options.setOutput(output<T>(call), call.count);
  });
  options.setReduceFunction(untyped_reduction(call.type, call.reduction));
  options.setTag(tag_);
  gloo::allreduce(options);
}

// Every rank must pass memory for the result, although only the root's memory has the result.
void GlooGroup::reduce(const Call& call) {
  gloo::ReduceOptions options(context_);
  std::vector<std::byte> scratch(call.out == nullptr ? call.count * bytes_of(call.type) : 0);
  with_size(call.type, [&]<typename T>(T) {
    if (call.in != call.out) options.setInput(input<T>(call), call.count);
    options.setOutput(call.out != nullptr ? output<T>(call) : reinterpret_cast<T*>(scratch.data()),
                      call.count);
  });
  options.setRoot(call.root);
  options.setReduceFunction(untyped_reduction(call.type, call.reduction));
  options.setTag(tag_);
  gloo::reduce(options);
}

// Gloo has this operation only as an algorithm of its old interface. It works on one buffer, and the result
// is at its front.
void GlooGroup::reduce_scatter(const Call& call) {
  const auto size = static_cast<std::size_t>(context_->size);
  with_type(call.type, [&]<typename T>(T) {
    std::vector<T> buffer(size * call.count);
    std::memcpy(static_cast<void*>(buffer.data()), call.in, buffer.size() * sizeof(T));
    gloo::ReduceScatterHalvingDoubling<T> algorithm(
        context_, {buffer.data()}, static_cast<int>(buffer.size()),
        std::vector<int>(size, static_cast<int>(call.count)), typed_reduction<T>(call.reduction));
    algorithm.run();
    std::memcpy(call.out, static_cast<const void*>(buffer.data()), call.count * sizeof(T));
  });
}

void GlooGroup::broadcast(const Call& call) {
  gloo::BroadcastOptions options(context_);
  with_size(call.type, [&]<typename T>(T) {
    if (context_->rank == call.root && call.in != call.out) options.setInput(input<T>(call), call.count);
    options.setOutput(output<T>(call), call.count);
  });
  options.setRoot(call.root);
  options.setTag(tag_);
  gloo::broadcast(options);
}

void GlooGroup::all_gather(const Call& call) {
  gloo::AllgatherOptions options(context_);
  const auto size = static_cast<std::size_t>(context_->size);
  with_size(call.type, [&]<typename T>(T) {
    if (call.in != output<T>(call) + static_cast<std::size_t>(context_->rank) * call.count) {
      options.setInput(input<T>(call), call.count);
    }
    options.setOutput(output<T>(call), size * call.count);
  });
  options.setTag(tag_);
  gloo::allgather(options);
}

void GlooGroup::all_gatherv(const Call& call) {
  gloo::AllgathervOptions options(context_);
  with_size(call.type, [&]<typename T>(T) {
    options.setInput(input<T>(call), call.receives.at(static_cast<std::size_t>(context_->rank)));
    options.setOutput(output<T>(call), call.receives);
  });
  options.setTag(tag_);
  gloo::allgatherv(options);
}

void GlooGroup::gather(const Call& call) {
  gloo::GatherOptions options(context_);
  const auto size = static_cast<std::size_t>(context_->size);
  with_size(call.type, [&]<typename T>(T) {
    options.setInput(input<T>(call), call.count);
    if (context_->rank == call.root) options.setOutput(output<T>(call), size * call.count);
  });
  options.setRoot(call.root);
  options.setTag(tag_);
  gloo::gather(options);
}

void GlooGroup::scatter(const Call& call) {
  gloo::ScatterOptions options(context_);
  with_size(call.type, [&]<typename T>(T) {
    std::vector<T*> parts;
    for (int rank = 0; rank < context_->size && context_->rank == call.root; ++rank) {
      parts.push_back(input<T>(call) + static_cast<std::size_t>(rank) * call.count);
    }
    if (!parts.empty()) options.setInputs(parts, call.count);
    options.setOutput(output<T>(call), call.count);
  });
  options.setRoot(call.root);
  options.setTag(tag_);
  gloo::scatter(options);
}

void GlooGroup::all_to_all(const Call& call) {
  gloo::AlltoallOptions options(context_);
  const auto elements = static_cast<std::size_t>(context_->size) * call.count;
  with_size(call.type, [&]<typename T>(T) {
    options.setInput(input<T>(call), elements);
    options.setOutput(output<T>(call), elements);
  });
  options.setTag(tag_);
  gloo::alltoall(options);
}

void GlooGroup::all_to_allv(const Call& call) {
  gloo::AlltoallvOptions options(context_);
  with_size(call.type, [&]<typename T>(T) {
    options.setInput(input<T>(call), as_int64(call.sends));
    options.setOutput(output<T>(call), as_int64(call.receives));
  });
  options.setTag(tag_);
  gloo::alltoallv(options);
}

// Slots below those of Gloo's own operations (gloo/types.h) are free for callers.
void GlooGroup::send(const Call& call) {
  auto buffer = context_->createUnboundBuffer(const_cast<void*>(call.in), call.count * bytes_of(call.type));
  buffer->send(call.root, call.tag);
  if (!buffer->waitSend(context_->getTimeout())) throw gloo::IoException("send was aborted");
}

void GlooGroup::receive(const Call& call) {
  auto buffer = context_->createUnboundBuffer(call.out, call.count * bytes_of(call.type));
  if (call.root == kAnyRank) {
    std::vector<int> others;
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank != context_->rank) others.push_back(rank);
    }
    buffer->recv(others, call.tag);
  } else {
    buffer->recv(call.root, call.tag);
  }
  int source = call.root;
  if (!buffer->waitRecv(&source, context_->getTimeout())) throw gloo::IoException("receive was aborted");
  if (call.source != nullptr) *call.source = source;
}

void GlooGroup::barrier() {
  gloo::BarrierOptions options(context_);
  options.setTag(tag_);
  gloo::barrier(options);
}

}  // namespace proctor::collectives
