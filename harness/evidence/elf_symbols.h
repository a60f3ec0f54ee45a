// Dynamic symbols of an ELF file, by name. A stripped program still has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace proctor {

struct ElfSymbols {
  std::map<std::string, std::uint64_t> address;  // as linked; only the wanted names that exist
  std::uint64_t base = 0;                        // address, as linked, of the page with the file's start
};

// 64-bit files of this machine's byte order; nullopt for everything else.
std::optional<ElfSymbols> read_elf_symbols(const std::string& path, const std::vector<std::string>& wanted);

}  // namespace proctor
