#include "harness/runner/machine/dynamic_loader.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <map>

#include "harness/journal/child_protocol.h"
#include "harness/plan/recognise.h"

namespace proctor {

bool asks_for_loader(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header{};
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    stream.seekg(static_cast<std::streamoff>(header.e_phoff) + i * header.e_phentsize);
    if (!stream.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

Result<void> start_through(const std::vector<std::string>& loader_words, Backend backend,
                           const std::string& path, Plan& plan) {
  std::map<std::size_t, std::string> programs;  // suite -> its program
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    if (plan.suites[i].backend != backend) continue;
    auto program = find_executable(plan.suites[i], path);
    if (!program) return program.error();
    if (asks_for_loader(*program)) programs.emplace(i, *std::move(program));
  }
  for (const auto& [suite, program] : programs) plan.suites[suite].env[child::kSelfVariable] = program;
  for (Case& test : plan.cases) {
    const auto program = programs.find(test.suite);
    if (program == programs.end()) continue;
    test.argv.front() = program->second;
    test.argv.insert(test.argv.begin(), loader_words.begin(), loader_words.end());
  }
  return {};
}

}  // namespace proctor
