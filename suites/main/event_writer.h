// Writes the events of one case to the descriptor that Proctor gave, one write() for each line. Without a
// descriptor it writes nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace proctor::suite {

class EventWriter {
 public:
  // `fd` < 0: no one listens.
  explicit EventWriter(int fd) : fd_(fd) {}
  // From PROCTOR_EVENTS_FD. If the variable is set but names no open descriptor, that is an error that the
  // caller must not ignore.
  static EventWriter from_environment();

  bool listening() const { return fd_ >= 0; }
  // Adds "v", "case" and "event". Texts too long for one line are shortened.
  void write(std::string_view case_name, std::string_view event,
             nlohmann::json fields = nlohmann::json::object());

 private:
  int fd_;
};

// At most `most` bytes, with a visible mark where text was left out.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace proctor::suite
