#include "harness/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/base/digest.h"
#include "harness/base/regular_file.h"

namespace proctor {
namespace {

// Limits for hostile files. Real files have a dozen headers, and notes of some hundred bytes.
constexpr std::size_t kMostHeaders = 1024;
constexpr std::size_t kMostNotes = std::size_t{64} * 1024;

bool read_at(std::ifstream& file, std::uint64_t offset, void* into, std::size_t size) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(into), static_cast<std::streamsize>(size));
  return file.gcount() == static_cast<std::streamsize>(size);
}

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Returns the bytes of the first build id in the notes, or nothing.
std::optional<std::string_view> find_build_id(std::string_view notes) {
  constexpr std::string_view kOwner("GNU\0", 4);
  ElfW(Nhdr) note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t size = name + padded(note.n_descsz);
    if (name > notes.size() || note.n_descsz > notes.size() - name) return std::nullopt;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == kOwner && note.n_descsz > 0)
      return notes.substr(name, note.n_descsz);
    notes.remove_prefix(std::min(size, notes.size()));
  }
  return std::nullopt;
}

std::vector<ElfW(Phdr)> program_headers(std::ifstream& file) {
  ElfW(Ehdr) header{};
  if (!read_at(file, 0, &header, sizeof header)) return {};
  const bool ours = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                    header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                    header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phnum <= kMostHeaders;
  if (!ours) return {};
  std::vector<ElfW(Phdr)> headers(header.e_phnum);
  if (!read_at(file, header.e_phoff, headers.data(), headers.size() * sizeof headers.front())) return {};
  return headers;
}

}  // namespace

Result<std::string> read_build_id(const std::string& path) {
  auto opened = open_file_stream(path, kAnySize);
  if (!opened) return opened.error();
  std::ifstream& file = *opened;
  const auto headers = program_headers(file);
  if (headers.empty())
    return Error{ErrorKind::kSystem, "read " + path + ": it is not an ELF file for this machine", {}, 0};
  for (const auto& header : headers) {
    if (header.p_type != PT_NOTE || header.p_filesz > kMostNotes) continue;
    std::string notes(header.p_filesz, '\0');
    if (!read_at(file, header.p_offset, notes.data(), notes.size())) continue;
    if (const auto id = find_build_id(notes)) return to_hex(*id);
  }
  return Error{ErrorKind::kSystem, "read " + path + ": it has no GNU build id", {}, 0};
}

}  // namespace proctor
