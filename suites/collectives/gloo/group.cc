#include "suites/collectives/gloo/group.h"

#include <dlfcn.h>
#include <gloo/barrier.h>
#include <gloo/common/error.h>
#include <gloo/common/logging.h>
#include <gloo/config.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "suites/collectives/provider.h"

namespace proctor::collectives {
namespace {

Sockets open_sockets() {
  Sockets sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;  // the descriptor of the iterator itself is already closed
    const auto target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:")) sockets.emplace(std::atoi(entry.path().filename().c_str()), target);
  }
  return sockets;
}

// Returns the sockets that are not in `before`.
Sockets opened_since(const Sockets& before) {
  Sockets opened = open_sockets();
  std::erase_if(opened, [&](const auto& socket) {
    const auto was = before.find(socket.first);
    return was != before.end() && was->second == socket.second;
  });
  return opened;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Gloo's errors differ only in their texts (https://github.com/pytorch/gloo/blob/main/docs/errors.md).
Ended ended_of_io(const std::string& text) {
  if (contains(text, "Timed out") || contains(text, "imeout")) return Ended::kTimeout;
  for (const char* lost : {"Connection closed by peer", "Connection reset by peer", "Broken pipe",
                           "Connection refused", "Socket closed"}) {
    if (contains(text, lost)) return Ended::kPeerLost;
  }
  return Ended::kOther;
}

// Returns a separate directory for each group. An existing key of a rank was left by a crashed run, and
// Gloo's store refuses to set it again.
std::string directory_of(const GroupSpec& spec) {
  const auto directory = std::filesystem::path(spec.store) / spec.name;
  std::filesystem::create_directory(directory);
  return directory.string();
}

// The default store of Gloo waits 30 s for a rank, whatever the limit of the group.
class LimitedStore final : public gloo::rendezvous::FileStore {
 public:
  LimitedStore(const std::string& directory, std::chrono::milliseconds limit)
      : FileStore(directory), limit_(limit) {}

  using FileStore::wait;
  void wait(const std::vector<std::string>& keys) override { FileStore::wait(keys, limit_); }

 private:
  std::chrono::milliseconds limit_;
};

// Newer versions of Gloo share the store.
template <typename Context>
void connect(Context& context, const GroupSpec& spec, std::shared_ptr<gloo::transport::Device> device) {
  auto store = std::make_shared<LimitedStore>(directory_of(spec), spec.timeout);
  if constexpr (requires { context.connectFullMesh(*store, device); }) {
    context.connectFullMesh(*store, device);
  } else {
    context.connectFullMesh(store, device);
  }
}

}  // namespace

Answer answer_of_exception(bool aborted) noexcept {
  try {
    throw;
  } catch (const gloo::EnforceNotMet& error) {  // a failed check in Gloo: arguments, store, state
    return {aborted ? Ended::kAborted : Ended::kRefused, error.what()};
  } catch (const gloo::InvalidOperationException& error) {
    return {aborted ? Ended::kAborted : Ended::kRefused, error.what()};
  } catch (const gloo::IoException& error) {
    return {aborted ? Ended::kAborted : ended_of_io(error.what()), error.what()};
  } catch (const std::exception& error) {
    return {aborted ? Ended::kAborted : Ended::kOther, error.what()};
  } catch (...) {
    return {Ended::kOther, "an exception of an unknown type"};
  }
}

GlooGroup::GlooGroup(const GroupSpec& spec)
    : context_(std::make_shared<gloo::rendezvous::Context>(spec.rank, spec.size)) {
  context_->setTimeout(spec.timeout);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  const Sockets before = open_sockets();
  connect(*context_, spec, gloo::transport::tcp::CreateDevice(attributes));
  connections_ = opened_since(before);
}

GlooGroup::~GlooGroup() = default;

Answer GlooGroup::run(const Call& call) noexcept {
  if (aborted_) return {Ended::kAborted, "the group was aborted"};
  if (!gloo_supports(call.operation, call.type, call.reduction)) {
    return {Ended::kRefused,
            std::string("Gloo has no ") + to_string(call.operation) + " of " + to_string(call.type) +
                (reduces(call.operation) ? std::string(" by ") + to_string(call.reduction) : std::string())};
  }
  if (call.count == 0 && !gloo_takes_nothing(call.operation)) {
    return {Ended::kRefused, std::string("Gloo has no ") + to_string(call.operation) + " of nothing"};
  }
  try {
    execute(call);
    return {};
  } catch (...) {
    return answer_of_exception(aborted_);
  }
}

// Gloo has no abort. In Gloo 0.5.0, a waiting thread sleeps on when its connections are closed. Shutting down
// the sockets makes Gloo's own thread wake all waiting threads.
Answer GlooGroup::abort() noexcept {
  if (aborted_.exchange(true)) return {};
  try {
    const Sockets open = open_sockets();
    for (const auto& [descriptor, name] : connections_) {
      const auto now = open.find(descriptor);
      if (now != open.end() && now->second == name) ::shutdown(descriptor, SHUT_RDWR);
    }
    return {};
  } catch (...) {
    return answer_of_exception(false);
  }
}

// ---- libproctor_gloo.so: Gloo (https://github.com/facebookincubator/gloo) as a provider ----

namespace {

class Gloo final : public Provider {
 public:
  // Gloo has no function that returns its version, so this is the version of the headers.
  Identity identity() const noexcept override {
    void (*const of_gloo)(gloo::BarrierOptions&) = &gloo::barrier;
    Dl_info info{};
    const bool found = ::dladdr(reinterpret_cast<const void*>(of_gloo), &info) != 0;
    return {.name = "gloo",
            .version = std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
                       std::to_string(GLOO_VERSION_PATCH),
            .number = GLOO_VERSION,
            .file = found ? info.dli_fname : ""};
  }
  Memory memory() const noexcept override { return Memory::kHost; }
  Features features() const noexcept override { return {}; }
  bool supports(Operation operation, Type type, Reduction reduction) const noexcept override {
    return gloo_supports(operation, type, reduction);
  }
  bool takes_nothing(Operation operation) const noexcept override { return gloo_takes_nothing(operation); }
  Answer make_group(const GroupSpec& spec, std::unique_ptr<Group>& group) noexcept override {
    try {
      group = std::make_unique<GlooGroup>(spec);
      return {};
    } catch (...) {
      return answer_of_exception(false);
    }
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Provider* proctor_collective_provider(std::string*) {
  static Gloo provider;
  return &provider;
}

}  // namespace proctor::collectives
