// A group of ranks over Gloo: processes that find each other in a directory and communicate by TCP on the
// loopback interface.
#pragma once

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

// The open sockets of this process. A group compares them before and after connecting, so that abort() shuts
// down only its own connections.
using Sockets = std::map<int, std::string>;  // descriptor -> "socket:[12345]", the form of /proc/self/fd

bool gloo_supports(Operation operation, Type type, Reduction reduction);
// Returns whether the operation accepts zero elements. Gloo 0.5.0 divides by the size of an all_gather, so an
// empty all_gather ends the process (SIGFPE).
constexpr bool gloo_takes_nothing(Operation operation) { return operation != Operation::kAllGather; }

class GlooGroup final : public Group {
 public:
  // Throws the exceptions of Gloo.
  explicit GlooGroup(const GroupSpec& spec);
  ~GlooGroup() override;

  Answer run(const Call& call) noexcept override;
  void set_timeout(std::chrono::milliseconds timeout) noexcept override { context_->setTimeout(timeout); }
  Answer abort() noexcept override;

 private:
  void execute(const Call& call);

  void all_reduce(const Call& call);
  void reduce(const Call& call);
  void reduce_scatter(const Call& call);
  void broadcast(const Call& call);
  void all_gather(const Call& call);
  void all_gatherv(const Call& call);
  void gather(const Call& call);
  void scatter(const Call& call);
  void all_to_all(const Call& call);
  void all_to_allv(const Call& call);
  void send(const Call& call);
  void receive(const Call& call);
  void barrier();

  std::shared_ptr<gloo::rendezvous::Context> context_;
  Sockets connections_;
  std::uint32_t tag_ = 0;  // separates the messages of the operations of all ranks
  std::atomic<bool> aborted_{false};
};

// Converts the current exception to an answer. Call it in a catch block.
Answer answer_of_exception(bool aborted) noexcept;

}  // namespace proctor::collectives
