#include "harness/process/evidence/state_digest.h"

#include <sstream>
#include <utility>

namespace proctor {
namespace {

// First bytes of a line. No clean text has them.
constexpr char kEnd = '\f';
constexpr char kCoreProgram = '\v';
constexpr char kFrame = '\x1d';  // also between its function and its location

StackFrame frame_from(std::string_view text) {
  const std::size_t between = text.find(kFrame);
  if (between == text.npos) return {.function = std::string(text), .location = ""};
  return {.function = std::string(text.substr(0, between)),
          .location = std::string(text.substr(between + 1))};
}

void add_line(EvidenceDigest& digest, const std::string& line) {
  const std::string_view rest = std::string_view(line).substr(line.empty() ? 0 : 1);
  if (line.starts_with(kCoreProgram)) {
    digest.core_program = rest;
  } else if (line.starts_with(kFrame)) {
    digest.frame = frame_from(rest);
  } else {
    digest.lines.push_back(line);
  }
}

}  // namespace

std::string to_text(const EvidenceDigest& digest) {
  std::string text;
  for (const std::string& line : digest.lines) text += line + '\n';
  if (digest.frame) text += kFrame + digest.frame->function + kFrame + digest.frame->location + '\n';
  if (!digest.core_program.empty()) text += kCoreProgram + digest.core_program + '\n';
  return text + kEnd + '\n';
}

EvidenceDigest last_digest(std::string_view text) {
  EvidenceDigest complete;
  EvidenceDigest current;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kEnd)) {
      complete = std::exchange(current, {});
    } else {
      add_line(current, line);
    }
  }
  return complete;
}

}  // namespace proctor
