#include "harness/process/evidence/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <signal.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "harness/base/read_file.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxNotes = 8 * 1024 * 1024;  // the kernel limits the largest note to 4 MiB
// arguments and environment need at most 6 MiB of the stack
constexpr std::size_t kMaxStack = 8 * 1024 * 1024;
constexpr std::size_t kMaxHeaders = 0xffff;
constexpr std::uint64_t kMaxMappings = 1'000'000;
constexpr std::size_t kCopyBytes = 1024 * 1024;
constexpr mode_t kOwnersAlone = 0600;

std::string read_part(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// Returns the record of type T at this offset, if `bytes` is long enough.
template <typename T>
std::optional<T> record_at(std::string_view bytes, std::uint64_t offset) {
  T record;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(record)) return std::nullopt;
  std::memcpy(&record, bytes.data() + offset, sizeof(record));
  return record;
}

using Parts = std::vector<ElfW(Phdr)>;

// Returns an empty list if the file is not a core of this machine's architecture.
Parts read_parts(int fd) {
  const auto header = record_at<ElfW(Ehdr)>(read_part(fd, 0, sizeof(ElfW(Ehdr))), 0);
  constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != kClass ||
      header->e_type != ET_CORE || header->e_phentsize != sizeof(ElfW(Phdr)) ||
      header->e_phnum >= kMaxHeaders)
    return {};
  const std::string table = read_part(fd, header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr)));
  Parts parts;
  while (const auto part = record_at<ElfW(Phdr)>(table, parts.size() * sizeof(ElfW(Phdr))))
    parts.push_back(*part);
  return parts;
}

// The notes of other threads than the first may be cut off. They describe only those threads.
std::string read_notes(int fd, const Parts& parts) {
  const auto notes = std::ranges::find(parts, ElfW(Word){PT_NOTE}, &ElfW(Phdr)::p_type);
  if (notes == parts.end()) return {};
  return read_part(fd, notes->p_offset, std::min<std::uint64_t>(notes->p_filesz, kMaxNotes));
}

// Returns the memory before the address in the same mapping.
std::string read_memory_before(int fd, const Parts& parts, std::uint64_t address) {
  for (const auto& part : parts) {
    if (part.p_type != PT_LOAD || address < part.p_vaddr || address - part.p_vaddr > part.p_filesz) continue;
    const std::uint64_t end = address - part.p_vaddr;
    const std::uint64_t size = std::min<std::uint64_t>(end, kMaxStack);
    return read_part(fd, part.p_offset + (end - size), size);
  }
  return {};
}

// Returns a variable of the environment. The kernel puts the environment on the stack, before the name of the
// program.
std::string variable_before(std::string_view memory, const std::string& name) {
  const std::string entry = std::string(1, '\0') + name + "=";
  const std::size_t at = memory.rfind(entry);
  if (at == std::string_view::npos) return {};
  const std::string_view value = memory.substr(at + entry.size());
  return std::string(value.substr(0, value.find('\0')));
}

// Returns the first note of each kind.
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

// Returns a value of the auxiliary vector, or 0 if the kernel did not set it.
std::uint64_t value_of(std::string_view vector, std::uint64_t type) {
  for (std::uint64_t at = 0;; at += sizeof(ElfW(auxv_t))) {
    const auto entry = record_at<ElfW(auxv_t)>(vector, at);
    if (!entry || entry->a_type == AT_NULL) return 0;
    if (entry->a_type == type) return entry->a_un.a_val;
  }
}

// Returns the file that is mapped at the address. NT_FILE contains the number of mappings and the page size.
// Then come begin, end and offset of each mapping, and all file names.
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

// Writes all bytes. Returns 0 or the errno value.
int write_part(int out, std::string_view bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(out, bytes.data(), bytes.size(), at);
    if (written <= 0) return written == 0 ? ENOSPC : errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  return 0;
}

// Copies one range without holes. copy_file_range(2) is not used, because some kernels refuse it between two
// types of file systems.
int copy_part(int in, int out, off_t begin, off_t end, Clock::time_point deadline) {
  std::string buffer(kCopyBytes, '\0');
  while (begin < end) {
    if (Clock::now() >= deadline) return ETIME;
    const auto wanted = std::min(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(in, buffer.data(), wanted, begin);
    if (got <= 0) return got == 0 ? EIO : errno;  // 0: another process has truncated the file
    if (const int failed = write_part(out, {buffer.data(), static_cast<std::size_t>(got)}, begin))
      return failed;
    begin += got;
  }
  return 0;
}

int copy_parts(int in, int out, Clock::time_point deadline) {
  const off_t end = ::lseek(in, 0, SEEK_END);
  for (off_t at = 0; at < end;) {
    at = ::lseek(in, at, SEEK_DATA);
    if (at < 0 && errno == ENXIO) break;  // the file ends with a hole
    const off_t hole = at < 0 ? -1 : ::lseek(in, at, SEEK_HOLE);
    if (hole < 0) return errno;
    if (const int failed = copy_part(in, out, at, hole, deadline)) return failed;
    at = hole;
  }
  return ::ftruncate(out, end) == 0 ? 0 : errno;
}

Result<void> copy_open(int in, const std::string& to, mode_t mode, Clock::time_point deadline) {
  const UniqueFd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!out) return Error::system("write " + to, errno);
  const int failed = copy_parts(in, out.get(), deadline);
  if (failed == ETIME) return Error{.what = "copy it to " + to + " in time", .hint = {}};
  if (failed != 0) return Error::system("write " + to, failed);
  return {};
}

bool is_at(const FoundCore& core, const std::string& path) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(core.file.get(), &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

// Returns whether the path is safe in a command line. Any process can have written it. It could be an option
// of a debugger or contain a line break.
bool can_be_typed(const std::string& program) {
  return program.starts_with('/') && clean_text(program) == program &&
         program.find('\n') == std::string::npos;
}

std::optional<CoreFacts> read_facts(int fd) {
  const Parts parts = read_parts(fd);
  const std::string bytes = read_notes(fd, parts);
  const auto notes = notes_in(bytes);
  const auto about = notes.find(NT_PRPSINFO);
  const auto process = about == notes.end() ? std::nullopt : record_at<prpsinfo_t>(about->second, 0);
  if (!process) return std::nullopt;
  CoreFacts facts{.pid = process->pr_pid, .program = {}, .containment_id = {}};
  const auto vector = notes.find(NT_AUXV);
  if (vector == notes.end()) return facts;
  const std::string stack = read_memory_before(fd, parts, value_of(vector->second, AT_EXECFN));
  facts.containment_id = variable_before(stack, child::kContainmentVariable);
  const auto mappings = notes.find(NT_FILE);
  if (mappings == notes.end()) return facts;
  const std::string program = file_mapped_at(mappings->second, value_of(vector->second, AT_ENTRY));
  if (can_be_typed(program)) facts.program = program;
  return facts;
}

// Returns whether the file can only have been written by the kernel for this user. Another user's file could
// contain arbitrary data for the debugger.
bool is_ours_alone(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_nlink == 1;
}

bool is_of(const CoreFacts& core, const CoreOwner& owner) {
  if (core.pid != owner.pid) return false;
  return core.containment_id.empty() ? owner.is_alone : core.containment_id == owner.containment_id;
}

bool is_newer(const timespec& one, const timespec& other) {
  return one.tv_sec > other.tv_sec || (one.tv_sec == other.tv_sec && one.tv_nsec > other.tv_nsec);
}

void for_each_core(const std::string& glob, std::int64_t since,
                   const std::function<void(FoundCore, const timespec& written)>& use) {
  glob_t found{};
  if (::glob(glob.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      auto file = open_regular(path, kAnySize);
      struct stat status {};
      if (!file || ::fstat(file->get(), &status) != 0 || !is_ours_alone(status)) continue;
      if (status.st_mtim.tv_sec < since) continue;
      if (auto facts = read_facts(file->get()))
        use({path, *std::move(file), *std::move(facts)}, status.st_mtim);
    }
  }
  ::globfree(&found);
}

}  // namespace

std::optional<CoreFacts> read_core(const std::string& path) {
  const auto fd = open_regular(path, kAnySize);
  return fd ? read_facts(fd->get()) : std::nullopt;
}

std::optional<FoundCore> find_core(const std::string& glob, const CoreOwner& owner) {
  std::optional<FoundCore> newest;
  timespec newest_time{};
  for_each_core(glob, owner.since, [&](FoundCore core, const timespec& written) {
    if (!is_of(core.facts, owner) || (newest && !is_newer(written, newest_time))) return;
    newest = std::move(core);
    newest_time = written;
  });
  return newest;
}

void remove_cores(const std::string& glob, std::int64_t since,
                  const std::function<bool(const CoreFacts&)>& goes) {
  for_each_core(glob, since, [&goes](const FoundCore& core, const timespec&) {
    if (goes(core.facts) && is_at(core, core.path)) ::unlink(core.path.c_str());
  });
}

std::uint64_t bytes_on_disk(const std::string& path) {
  constexpr std::uint64_t kBlock = 512;
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * kBlock : 0;
}

std::string core_draft(const std::string& core) {
  return std::filesystem::path(core).replace_extension("part.core");
}

Result<void> copy_with_holes(const std::string& from, const std::string& to, mode_t mode) {
  const auto in = open_regular(from, kAnySize);
  return in ? copy_open(in->get(), to, mode, Clock::time_point::max()) : in.error();
}

Result<void> move_core(const FoundCore& core, const std::string& to, Clock::time_point end) {
  if (!is_at(core, core.path)) return Error::system("move " + core.path, ESTALE);
  if (::rename(core.path.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return Error::system("move " + core.path, errno);
  const std::string draft = core_draft(to);
  auto copied = copy_open(core.file.get(), draft, kOwnersAlone, end);
  if (copied && ::rename(draft.c_str(), to.c_str()) != 0) copied = Error::system("move " + draft, errno);
  if (!copied) {
    ::unlink(draft.c_str());
    return copied;
  }
  ::unlink(core.path.c_str());
  return {};
}

namespace {

constexpr std::size_t kCommBytes = 15;  // the kernel truncates the process name to this length

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// Returns "systemd-coredump" for "|/usr/lib/systemd/systemd-coredump %P %u".
std::string taker(const CorePattern& pattern) {
  const std::string_view text = trimmed(std::string_view(pattern.text).substr(1));
  return file_name(text.substr(0, text.find(' ')));
}

std::string taken_by(const CorePattern& pattern, const CrashedProcess& process) {
  const std::string name = taker(pattern);
  const std::string setting = "kernel.core_pattern is " + pattern.text;
  if (name != "systemd-coredump")
    return "its core went to " + name + " (" + setting +
           "); `sysctl kernel.core_pattern=core.%p` keeps it here";
  const std::string which = process.host_pid != 0 ? std::to_string(process.host_pid)
                                                  : file_name(process.program).substr(0, kCommBytes);
  return "its core went to systemd-coredump: `coredumpctl gdb " + shell_quote(which) + "`";
}

}  // namespace

CorePattern read_core_pattern() {
  const std::string text = read_file_or_empty("/proc/sys/kernel/core_pattern");
  const std::string adds_pid = read_file_or_empty("/proc/sys/kernel/core_uses_pid");
  return {.text = std::string(trimmed(text)), .adds_pid = trimmed(adds_pid) != "0"};
}

CoreLimit read_core_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return {};
  return {.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

bool leaves_a_core(int signal) {
  constexpr std::array kSignals = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                   SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
  return std::ranges::find(kSignals, signal) != kSignals.end();
}

bool have_pids_of_the_host() {
  constexpr std::string_view kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO, the same in every kernel
  std::array<char, 64> target{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == kInitial;
}

std::string core_glob(const CorePattern& pattern, const CrashedProcess& process,
                      const std::string& directory) {
  const std::string& text = pattern.text;
  std::string glob = text.starts_with('/') ? "" : escaped(directory) + "/";
  const std::string pid = process.pid != 0 ? std::to_string(process.pid) : "*";
  bool has_pid = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      glob += escaped(text.substr(i, 1));
      continue;
    }
    const char what = ++i < text.size() ? text[i] : '\0';
    has_pid = has_pid || what == 'p';
    if (what == '%') {
      glob += '%';
    } else if (what == 'p') {
      glob += pid;
    } else if (what == 'P' && process.host_pid != 0) {
      glob += std::to_string(process.host_pid);
    } else if (what == 'u') {
      glob += std::to_string(::getuid());
    } else if (what != '\0') {
      glob += '*';
    }
  }
  if (!has_pid && pattern.adds_pid) glob += '.' + pid;
  return glob;
}

std::string where_the_core_is(const CorePattern& pattern, const CoreLimit& limit,
                              const CrashedProcess& process, bool dumped) {
  if (dumped && pattern.is_taken()) return taken_by(pattern, process);
  if (pattern.is_taken()) return "no core: " + taker(pattern) + " took none (kernel.core_pattern)";
  if (limit.hard == 0) return "no core: its size is limited to 0 (ulimit -Hc), which only root can raise";
  const std::string at_once = pattern.is_shared() ? ", another one crashed there at the same moment" : "";
  return "no core: the program forbade it" + at_once +
         ", or there was no place for it (kernel.core_pattern is " + pattern.text + ")";
}

}  // namespace proctor
