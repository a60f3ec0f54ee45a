#include "harness/runner/machine/program_needs.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "harness/base/regular_file.h"
#include "harness/base/unique_fd.h"
#include "harness/devices/library_search.h"
#include "harness/journal/child_protocol.h"
#include "harness/plan/recognise.h"

namespace proctor {
namespace {

constexpr std::uint64_t kMostBytes = 64 << 20;  // of one table of a file, which may be damaged
constexpr std::size_t kMostLibraries = 1000;

struct VendorLibrary {
  std::string_view prefix;  // of the name of its file
  Backend backend;
};
constexpr std::array<VendorLibrary, 6> kVendorLibraries = {{{"libcudart.so", Backend::kCuda},
                                                            {"libcuda.so", Backend::kCuda},
                                                            {"libnvrtc.so", Backend::kCuda},
                                                            {"libze_loader.so", Backend::kXpu},
                                                            {"libsycl.so", Backend::kXpu},
                                                            {"libccl.so", Backend::kXpu}}};
// Libraries that a linked runtime opens by name.
constexpr std::array<VendorLibrary, 2> kOpenedLibraries = {
    {{"libcuda.so.1", Backend::kCuda}, {"libze_loader.so.1", Backend::kXpu}}};

Backend backend_of(std::string_view name) {
  for (const VendorLibrary& library : kVendorLibraries) {
    if (name.starts_with(library.prefix)) return library.backend;
  }
  return Backend::kNone;
}

// Returns `count` entries of a table, or nothing if the file is too short.
template <typename Entry>
std::optional<std::vector<Entry>> read_table(int fd, std::uint64_t offset, std::uint64_t count) {
  if (count > kMostBytes / sizeof(Entry)) return {};
  std::vector<Entry> entries(count);
  const std::size_t bytes = count * sizeof(Entry);
  if (pread(fd, entries.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) return {};
  return entries;
}

// Returns the offset in the file of the byte that the loader maps at `address`.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  }
  return {};
}

std::vector<std::string> split_path(std::string_view path, const std::string& origin) {
  std::vector<std::string> directories;
  while (!path.empty()) {
    const auto colon = std::min(path.find(':'), path.size());
    std::string directory(path.substr(0, colon));
    for (const std::string_view name : {"${ORIGIN}", "$ORIGIN"}) {
      for (auto at = directory.find(name); at != directory.npos;
           at = directory.find(name, at + origin.size()))
        directory.replace(at, name.size(), origin);
    }
    if (!directory.empty()) directories.push_back(std::move(directory));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return directories;
}

void add(std::vector<NeededBackend>& found, Backend backend, std::string why, bool certain) {
  const bool known =
      std::ranges::any_of(found, [&](const NeededBackend& one) { return one.backend == backend; });
  if (backend != Backend::kNone && !known) found.push_back({backend, std::move(why), certain});
}

}  // namespace

Result<NeededLibraries> read_needed_libraries(const std::string& file) {
  const auto damaged = [&] {
    return Error::usage("read " + file + ": it is not a complete ELF file for this machine");
  };
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Error::system("read " + file, errno);
  const auto header = read_table<Elf64_Ehdr>(fd.get(), 0, 1);
  if (!header) return damaged();
  const Elf64_Ehdr& elf = header->front();
  constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_ident[EI_DATA] != kByteOrder || elf.e_phentsize != sizeof(Elf64_Phdr))
    return damaged();
  const auto segments = read_table<Elf64_Phdr>(fd.get(), elf.e_phoff, elf.e_phnum);
  if (!segments) return damaged();
  const auto dynamic =
      std::ranges::find_if(*segments, [](const Elf64_Phdr& one) { return one.p_type == PT_DYNAMIC; });
  if (dynamic == segments->end()) return NeededLibraries{};  // a static program
  const auto entries =
      read_table<Elf64_Dyn>(fd.get(), dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn));
  if (!entries) return damaged();
  const auto value = [&](Elf64_Sxword tag) -> std::optional<std::uint64_t> {
    for (const Elf64_Dyn& entry : *entries) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return {};
  };
  const auto address = value(DT_STRTAB);
  const auto size = value(DT_STRSZ);
  const auto offset = address ? offset_of(*segments, *address) : std::nullopt;
  if (!offset || !size) return NeededLibraries{};
  const auto strings = read_table<char>(fd.get(), *offset, *size);
  if (!strings || strings->empty() || strings->back() != '\0') return damaged();
  const auto text = [&](std::uint64_t at) {
    return std::string(at < strings->size() ? strings->data() + at : "");
  };
  NeededLibraries needed;
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag != DT_NEEDED || needed.names.size() == kMostLibraries) continue;
    if (std::string name = text(entry.d_un.d_val); name.size() < PATH_MAX)
      needed.names.push_back(std::move(name));
  }
  const auto run_path = value(DT_RUNPATH) ? value(DT_RUNPATH) : value(DT_RPATH);
  if (run_path)
    needed.directories = split_path(text(*run_path), std::filesystem::path(file).parent_path().string());
  return needed;
}

std::vector<NeededBackend> needed_backends(const std::string& program, std::string_view ld_library_path) {
  std::vector<NeededBackend> found;
  const auto system = system_library_directories(ld_library_path);
  struct Library {
    std::string file;
    std::string through;  // "needs libfoo.so, which "
  };
  std::deque<Library> waiting = {{program, ""}};
  std::set<std::string> seen;
  while (!waiting.empty() && seen.size() < kMostLibraries) {  // breadth first
    const Library library = std::move(waiting.front());
    waiting.pop_front();
    const auto needed = read_needed_libraries(library.file);
    if (!needed) continue;
    std::vector<std::string> directories = needed->directories;
    directories.insert(directories.end(), system.begin(), system.end());
    for (const std::string& name : needed->names) {
      const Backend backend = backend_of(name);
      add(found, backend, library.through + "needs " + name, true);
      if (backend != Backend::kNone || !seen.insert(name).second) continue;
      const std::string file = name.find('/') == name.npos ? find_library(name, directories) : name;
      if (!file.empty()) waiting.push_back({file, library.through + "needs " + name + ", which "});
    }
  }
  if (!read_needed_libraries(program)) return found;
  const auto opened = find_texts(program, {kOpenedLibraries[0].prefix, kOpenedLibraries[1].prefix});
  for (const VendorLibrary& library : kOpenedLibraries) {
    if (opened && opened->contains(library.prefix))
      add(found, library.backend, "opens " + std::string(library.prefix), false);
  }
  return found;
}

namespace {

constexpr std::string_view kRuntime = "libcudart.so.";
constexpr std::string_view kEnd = "_cuda";
constexpr std::string_view kOlder = "12";

bool is_cuda_program(std::string_view program) { return program.ends_with(kEnd); }

std::array<std::string, 2> versions_of(const std::string& program) {
  return {program, program + std::string(kOlder)};
}

std::string needed_runtime(const NeededLibraries& needed) {
  for (const std::string& name : needed.names) {
    if (name.starts_with(kRuntime)) return name;
  }
  return {};
}

bool finds_its_runtime(const std::string& program, const std::vector<std::string>& system) {
  const auto needed = read_needed_libraries(program);
  if (!needed) return false;
  const std::string runtime = needed_runtime(*needed);
  return !runtime.empty() &&
         (!find_library(runtime, needed->directories).empty() || !find_library(runtime, system).empty());
}

}  // namespace

int needed_cuda_runtime(const std::string& program) {
  const auto needed = read_needed_libraries(program);
  const std::string runtime = needed ? needed_runtime(*needed) : std::string();
  int number = 0;
  if (!runtime.empty())
    std::from_chars(runtime.data() + kRuntime.size(), runtime.data() + runtime.size(), number);
  return number;
}

std::string program_for_runtime(const std::string& program, int runtime) {
  for (const std::string& version : versions_of(program)) {
    if (runtime != 0 && needed_cuda_runtime(version) == runtime) return version;
  }
  return {};
}

void use_cuda_runtime(int runtime, const std::string& directory, Plan& plan) {
  std::map<std::string, std::string> programs;
  for (Case& test : plan.cases) {
    if (test.argv.empty() || !is_cuda_program(test.argv.front()) ||
        !test.argv.front().starts_with(directory + "/"))
      continue;
    const auto [found, is_new] = programs.try_emplace(test.argv.front());
    if (is_new) found->second = program_for_runtime(test.argv.front(), runtime);
    if (!found->second.empty()) test.argv.front() = found->second;
  }
}

std::string startable_cuda_program(const std::string& program, std::string_view ld_library_path) {
  if (!is_cuda_program(program)) return program;
  const auto system = system_library_directories(ld_library_path);
  for (const std::string& version : versions_of(program)) {
    if (finds_its_runtime(version, system)) return version;
  }
  return program;
}

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
