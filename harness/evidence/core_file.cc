#include "harness/evidence/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "harness/core/unique_fd.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxNotes = 8 * 1024 * 1024;  // the kernel's own bound for the largest of them is 4 MiB
constexpr std::size_t kMaxHeaders = 0xffff;
constexpr std::uint64_t kMaxMappings = 1'000'000;
constexpr std::size_t kCopyBytes = 1024 * 1024;

UniqueFd open_regular(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return fd;
}

std::string read_part(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// The record of that kind at this place of the bytes, if they are long enough.
template <typename T>
std::optional<T> record_at(std::string_view bytes, std::uint64_t offset) {
  T record;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(record)) return std::nullopt;
  std::memcpy(&record, bytes.data() + offset, sizeof(record));
  return record;
}

std::string read_notes(int fd) {
  const auto header = record_at<ElfW(Ehdr)>(read_part(fd, 0, sizeof(ElfW(Ehdr))), 0);
  constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != kClass ||
      header->e_type != ET_CORE || header->e_phentsize != sizeof(ElfW(Phdr)) ||
      header->e_phnum >= kMaxHeaders)
    return {};
  const std::string table = read_part(fd, header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr)));
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto part = record_at<ElfW(Phdr)>(table, i * sizeof(ElfW(Phdr)));
    if (part && part->p_type == PT_NOTE && part->p_filesz <= kMaxNotes)
      return read_part(fd, part->p_offset, part->p_filesz);
  }
  return {};
}

// The first note of each kind.
std::map<std::uint32_t, std::string_view> notes_in(std::string_view bytes) {
  std::map<std::uint32_t, std::string_view> notes;
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  for (std::uint64_t at = 0;;) {
    const auto note = record_at<ElfW(Nhdr)>(bytes, at);
    if (!note) return notes;
    const std::uint64_t content = at + sizeof(*note) + padded(note->n_namesz);
    if (content > bytes.size() || bytes.size() - content < note->n_descsz) return notes;
    notes.emplace(note->n_type, bytes.substr(content, note->n_descsz));
    at = content + padded(note->n_descsz);
  }
}

// The address at which the program begins, as the kernel told the program itself.
std::uint64_t entry_of(std::string_view vector) {
  for (std::uint64_t at = 0;; at += sizeof(ElfW(auxv_t))) {
    const auto entry = record_at<ElfW(auxv_t)>(vector, at);
    if (!entry || entry->a_type == AT_NULL) return 0;
    if (entry->a_type == AT_ENTRY) return entry->a_un.a_val;
  }
}

// NT_FILE: how many mappings, the size of a page, begin, end and offset of each, then their names.
std::string file_mapped_at(std::string_view mappings, std::uint64_t address) {
  using Word = ElfW(Addr);
  const auto word = [&](std::uint64_t index) { return record_at<Word>(mappings, index * sizeof(Word)); };
  const std::uint64_t count = word(0).value_or(0);
  if (count > kMaxMappings) return {};
  std::uint64_t name = (2 + 3 * count) * sizeof(Word);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto begin = word(2 + 3 * i);
    const auto end = word(3 + 3 * i);
    const std::size_t zero = name < mappings.size() ? mappings.find('\0', name) : std::string_view::npos;
    if (!begin || !end || zero == std::string_view::npos) return {};
    if (*begin <= address && address < *end) return std::string(mappings.substr(name, zero - name));
    name = zero + 1;
  }
  return {};
}

// One stretch without holes. Not copy_file_range(2): some kernels refuse it between two kinds of file systems.
bool copy_part(int in, int out, off_t begin, off_t end) {
  std::string buffer(kCopyBytes, '\0');
  while (begin < end) {
    const auto wanted = std::min(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(in, buffer.data(), wanted, begin);
    if (got <= 0 || ::pwrite(out, buffer.data(), static_cast<std::size_t>(got), begin) != got) return false;
    begin += got;
  }
  return true;
}

Result<void> copy_with_holes(const std::string& from, const std::string& to) {
  const UniqueFd in = open_regular(from);
  if (!in) return Error::system("read " + from, errno);
  const UniqueFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return Error::system("write " + to, errno);
  const off_t end = ::lseek(in.get(), 0, SEEK_END);
  for (off_t at = 0; (at = ::lseek(in.get(), at, SEEK_DATA)) >= 0;) {
    const off_t hole = ::lseek(in.get(), at, SEEK_HOLE);
    if (!copy_part(in.get(), out.get(), at, hole)) return Error::system("write " + to, errno);
    at = hole;
  }
  if (::ftruncate(out.get(), end) != 0) return Error::system("write " + to, errno);
  return {};
}

}  // namespace

std::optional<CoreFacts> read_core(const std::string& path) {
  const UniqueFd fd = open_regular(path);
  if (!fd) return std::nullopt;
  const std::string bytes = read_notes(fd.get());
  const auto notes = notes_in(bytes);
  const auto about = notes.find(NT_PRPSINFO);
  const auto process = about == notes.end() ? std::nullopt : record_at<prpsinfo_t>(about->second, 0);
  if (!process) return std::nullopt;
  CoreFacts facts{.pid = process->pr_pid, .program = {}};
  const auto vector = notes.find(NT_AUXV);
  const auto mappings = notes.find(NT_FILE);
  if (vector != notes.end() && mappings != notes.end())
    facts.program = file_mapped_at(mappings->second, entry_of(vector->second));
  return facts;
}

std::string find_core(const std::string& glob, int pid, std::int64_t since) {
  glob_t found{};
  std::string newest;
  timespec newest_time{};
  if (::glob(glob.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      struct stat status {};
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_mtim.tv_sec < since)
        continue;
      const auto core = read_core(path);
      const timespec& time = status.st_mtim;
      const bool newer = newest.empty() || time.tv_sec > newest_time.tv_sec ||
                         (time.tv_sec == newest_time.tv_sec && time.tv_nsec > newest_time.tv_nsec);
      if (!core || core->pid != pid || !newer) continue;
      newest = path;
      newest_time = time;
    }
  }
  ::globfree(&found);
  return newest;
}

std::uint64_t bytes_on_disk(const std::string& path) {
  constexpr std::uint64_t kBlock = 512;
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * kBlock : 0;
}

Result<void> move_core(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return Error::system("move " + from, errno);
  const std::string part = to + ".part";
  auto copied = copy_with_holes(from, part);
  if (copied && ::rename(part.c_str(), to.c_str()) != 0) copied = Error::system("move " + part, errno);
  if (!copied) {
    ::unlink(part.c_str());
    return copied;
  }
  ::unlink(from.c_str());
  return {};
}

}  // namespace proctor
