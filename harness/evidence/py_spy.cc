#include "harness/evidence/py_spy.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "harness/core/text.h"

namespace proctor {

std::vector<ThreadStack> parse_py_spy(std::string_view text) {
  std::vector<ThreadStack> threads;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t quote = line.find('"');
    const std::size_t separator = line.rfind(" (");
    if (line.starts_with("Thread ")) {
      const bool named = quote != line.npos && line.rfind('"') > quote;
      threads.push_back({.tid = 0,
                         .name = named ? clean_text(line.substr(quote + 1, line.rfind('"') - quote - 1)) : "",
                         .frames = {}});
    } else if (line.starts_with("    ") && separator != line.npos && line.ends_with(')') &&
               !threads.empty()) {
      threads.back().frames.push_back(
          {.function = clean_text(line.substr(4, separator - 4)),
           .location = clean_text(line.substr(separator + 2, line.size() - separator - 3))});
    }
  }
  std::stable_partition(threads.begin(), threads.end(),
                        [](const ThreadStack& thread) { return thread.name == "MainThread"; });
  return threads;
}

}  // namespace proctor
