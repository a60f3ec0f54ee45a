#include "harness/evidence/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "harness/process/unique_fd.h"

namespace proctor {
namespace {

// A file in memory, with every access checked: it may be cut, or no ELF file at all.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_size <= 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped != MAP_FAILED) data_ = static_cast<const char*>(mapped);
  }
  ~MappedFile() {
    if (data_) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <typename T>
  std::optional<T> at(std::uint64_t offset) const {
    if (!data_ || offset > size_ || size_ - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }

  std::string_view string_at(std::uint64_t offset) const {
    if (!data_ || offset >= size_) return {};
    return {data_ + offset, ::strnlen(data_ + offset, size_ - offset)};
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

std::optional<Elf64_Ehdr> header_of(const MappedFile& file) {
  auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  return header;
}

std::uint64_t linked_base(const MappedFile& file, const Elf64_Ehdr& header) {
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto segment =
        file.at<Elf64_Phdr>(header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_LOAD) return segment->p_vaddr - segment->p_offset;
  }
  return 0;
}

void add_symbols(const MappedFile& file, const Elf64_Ehdr& header, const Elf64_Shdr& table,
                 const std::vector<std::string>& wanted, ElfSymbols& symbols) {
  const auto strings =
      file.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{table.sh_link} * sizeof(Elf64_Shdr));
  if (!strings) return;
  for (std::uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= table.sh_size; offset += sizeof(Elf64_Sym)) {
    const auto symbol = file.at<Elf64_Sym>(table.sh_offset + offset);
    if (!symbol) return;
    if (symbol->st_value == 0) continue;
    const std::string_view name = file.string_at(strings->sh_offset + symbol->st_name);
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      symbols.address.emplace(name, symbol->st_value);
  }
}

}  // namespace

std::optional<ElfSymbols> read_elf_symbols(const std::string& path, const std::vector<std::string>& wanted) {
  const MappedFile file(path);
  const auto header = header_of(file);
  if (!header) return std::nullopt;
  ElfSymbols symbols;
  symbols.base = linked_base(file, *header);
  for (int i = 0; i < header->e_shnum; ++i) {
    const auto section =
        file.at<Elf64_Shdr>(header->e_shoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Shdr));
    if (section && section->sh_type == SHT_DYNSYM) add_symbols(file, *header, *section, wanted, symbols);
  }
  return symbols;
}

}  // namespace proctor
