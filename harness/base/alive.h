// Callbacks that do nothing once the object that gave them is gone. Its member of this type hands them out:
//
//   timer_.async_wait(alive_.guard([this](const auto& error) { ... }));
//
// Not for callbacks of other threads.
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
  // From now on no guarded callback does anything.
  void end() { *alive_ = false; }
  // The same for those that were guarded so far.
  void renew() {
    end();
    alive_ = std::make_shared<bool>(true);
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proctor
