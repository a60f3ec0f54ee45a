#include "suites/main/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>

#include "harness/journal/child_protocol.h"

namespace proctor::suite {
namespace {

// Keeps every line below kMaxEventBytes, even if each byte is escaped. Few fields are long.
constexpr std::size_t kMaxTextBytes = 1800;

}  // namespace

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::string mark = " ... ";
  const std::size_t half = (most - mark.size()) / 2;
  return text.substr(0, half) + mark + text.substr(text.size() - half);
}

EventWriter EventWriter::from_environment() {
  const char* text = std::getenv(child::kEventsFdVariable);
  if (text == nullptr || *text == '\0') return EventWriter(-1);
  char* end = nullptr;
  const long fd = std::strtol(text, &end, 10);
  if (*end != '\0' || fd < 0 || fcntl(static_cast<int>(fd), F_GETFD) < 0) {
    std::cerr << child::kEventsFdVariable << "='" << text << "' is no open descriptor\n";
    std::exit(2);
  }
  // Processes that the check starts must not write events or keep the pipe open.
  fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  return EventWriter(static_cast<int>(fd));
}

void EventWriter::write(std::string_view case_name, std::string_view event, nlohmann::json fields) {
  if (!listening()) return;
  for (auto& value : fields) {
    if (value.is_string()) value = shortened(value.get<std::string>(), kMaxTextBytes);
  }
  fields["v"] = child::kProtocolVersion;
  fields["case"] = case_name;
  fields["event"] = event;
  const std::string line = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  ssize_t written = -1;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) std::cerr << "failed to write an event\n";
}

}  // namespace proctor::suite
