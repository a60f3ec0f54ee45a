// The command that starts a container of a stack, as words for the system and as text for people.
#pragma once

#include <string>
#include <vector>

#include "harness/stack/run_line.h"

namespace proctor {

struct StackContainer {
  StackLock lock{};
  Engine engine = Engine::kDocker;
  RunPlaces places{};
  std::string image{};
  std::string image_digest{};  // "" = not known, as where the line is printed
  std::string proctor{};       // directories of the host
  std::string out{};
  std::vector<std::string> options{};  // more of the engine's
  std::vector<std::string> command{};
};

// "ghcr.io/o/i@sha256:...": nobody can give it another meaning.
bool is_by_digest(const std::string& image);

// The first is a program's name. For buildah it is a shell with a script: buildah makes a container, runs it and
// removes it by three commands.
std::vector<std::string> engine_command(const StackContainer& container);

// The same for a shell, one option a line.
std::string engine_line(const StackContainer& container);

}  // namespace proctor
