#include "harness/base/workflow_commands.h"

namespace proctor {
namespace {

std::string escape(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) == special.npos) {
      out += c;
      continue;
    }
    out += '%';
    out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789ABCDEF"[c & 0xf];
  }
  return out;
}

// Returns whether a reader may treat the character as white space or ignore it. These are control characters
// and all bytes beyond ASCII, some of which are white space.
bool may_be_blank(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte >= 0x7f;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string escape_command_data(std::string_view text) { return escape(text, "%\r\n"); }

std::string escape_command_property(std::string_view text) { return escape(text, "%\r\n:,"); }

bool WorkflowCommandGuard::completes_a_command(char c) const {
  if (c == ':') return line_ == Line::kColon;
  return c == '[' && (prefix_ == 2 || prefix_ == kAzure.size());
}

void WorkflowCommandGuard::follow(char c) {
  if (c == '\n' || c == '\r') {
    line_ = Line::kStart;
  } else if (line_ != Line::kStart || !may_be_blank(c)) {
    line_ = line_ == Line::kStart && c == ':' ? Line::kColon : Line::kInside;
  }
  if (c == '#') {
    prefix_ = prefix_ == 1 || prefix_ == 2 ? 2 : 1;  // `###[` contains `##[`
  } else {
    prefix_ = prefix_ >= 2 && prefix_ < kAzure.size() && lower(c) == kAzure[prefix_] ? prefix_ + 1 : 0;
  }
}

std::string WorkflowCommandGuard::pass(std::string_view piece) {
  std::string out;
  out.reserve(piece.size());
  if (line_ == Line::kInside) line_ = Line::kStart;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    if (completes_a_command(piece[i])) {
      out += '\\';
      ++broken_;
    }
    if (i == 0 && line_ == Line::kColon) line_ = Line::kStart;
    follow(piece[i]);
    out += piece[i];
  }
  return out;
}

}  // namespace proctor
