// Alive protects an object from its own callbacks: a guarded callback does nothing after the object is
// destroyed. An object has a member of this type and wraps each callback that it registers:
//
//   timer_.async_wait(alive_.guard([this](const auto& error) { ... }));
//
// Alive is not thread-safe. The callbacks must run in the thread that destroys the object.
#pragma once

#include <memory>
#include <utility>

namespace proctor {

class Alive {
 public:
  Alive() = default;
  ~Alive() { end(); }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

  template <typename Callback>
  auto guard(Callback callback) const {
    return [alive = alive_, callback = std::move(callback)](auto&&... values) mutable -> void {
      if (*alive) callback(std::forward<decltype(values)>(values)...);
    };
  }
  // Disables all guarded callbacks, those of later guard() calls too.
  void end() { *alive_ = false; }
  // Disables the callbacks that were guarded so far. Callbacks that are guarded later run.
  void renew() {
    end();
    alive_ = std::make_shared<bool>(true);
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proctor
