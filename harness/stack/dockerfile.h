// Parses a Dockerfile as far as the lint rules need it: instructions, and the commands of each RUN, with the line of
// every word. It is not a shell: variables are not expanded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace proctor {

struct DockerWord {
  std::string text{};
  int line = 0;
};

// One simple command of a RUN: "apt-get install foo". Assignments, sudo, env and shell keywords before it are removed.
struct DockerCommand {
  std::vector<DockerWord> words{};
  bool reads_pipe = false;  // it follows a `|`

  std::string_view name() const { return words.empty() ? std::string_view() : words.front().text; }
  int line() const { return words.empty() ? 0 : words.front().line; }
  bool has(std::string_view word) const;
};

struct DockerInstruction {
  std::string keyword{};  // in upper case
  int line = 0;
  std::vector<DockerWord> flags{};  // --from=..., --mount=..., before the arguments
  std::vector<DockerWord> words{};
  std::vector<DockerCommand> commands{};  // for RUN
};

std::vector<DockerInstruction> parse_dockerfile(std::string_view text);

}  // namespace proctor
