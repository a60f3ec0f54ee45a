// Writes the events of one case to the descriptor from Proctor, with one write() per line. Without a
// descriptor it writes nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace proctor::suite {

class EventWriter {
 public:
  // `fd` < 0: nothing is written.
  explicit EventWriter(int fd) : fd_(fd) {}
  // From PROCTOR_EVENTS_FD. If the variable is set but is not an open descriptor, this is an error that the
  // caller must not ignore.
  static EventWriter from_environment();

  bool listening() const { return fd_ >= 0; }
  // Adds "v", "case" and "event". Shortens texts that are too long for one line.
  void write(std::string_view case_name, std::string_view event,
             nlohmann::json fields = nlohmann::json::object());

 private:
  int fd_;
};

// At most `most` bytes, with a visible mark at removed text.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace proctor::suite
