#include "harness/doctor/host.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "harness/base/backend.h"
#include "harness/base/rooted_files.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/devices/library_search.h"

namespace proctor {
namespace {

constexpr const char* kLibraries[] = {"libze_loader.so.1", "libze_intel_gpu.so.1", "libcuda.so.1",
                                      "libcuda.so",        "libnvidia-ml.so.1",    "libnvidia-ml.so"};

// ---- cards ----

// Removes the prefix: "0x8086" -> "8086".
std::string hex_digits(const std::string& text) { return text.starts_with("0x") ? text.substr(2) : text; }

// PCI class 03 are display controllers, and 1200 are processing accelerators.
bool is_accelerator(const std::string& vendor, const std::string& pci_class) {
  return (vendor == "8086" || vendor == "10de") &&
         (pci_class.starts_with("03") || pci_class.starts_with("1200"));
}

std::string field(const std::string& text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string::npos) return {};
  const auto begin = std::min(text.find_first_not_of(" \t", at + name.size()), text.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::optional<unsigned> whole_number(const std::string& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::vector<Card> read_cards(const RootedFiles& files) {
  const std::string bus = "/sys/bus/pci/devices/";
  std::vector<Card> cards;
  for (const auto& address : files.names(bus)) {
    const std::string directory = bus + address;
    const auto read = [&](const char* name) { return hex_digits(files.read(directory + name).value_or("")); };
    const std::string vendor = read("/vendor");
    if (!is_accelerator(vendor, read("/class"))) continue;
    Card card{address, vendor + ":" + read("/device"), {}, {}, {}, {}};
    if (const auto driver = files.resolve(directory + "/driver"))
      card.driver = std::filesystem::path(*driver).filename();
    const auto reported = files.read("/proc/driver/nvidia/gpus/" + address + "/information").value_or("");
    card.model = field(reported, "Model:");
    card.minor = whole_number(field(reported, "Device Minor:"));
    for (const auto& name : files.names(directory + "/drm")) {
      if (name.starts_with("renderD")) card.render_node = name;
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

// ---- caller ----

unsigned number_at(const std::string& text, std::size_t at) {
  unsigned number = 0;
  std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), number);
  return number;
}

// Parses the output of `id`: uid=1000(me) gid=1000(me) groups=1000(me),44(video)
std::optional<Caller> parse_id(const std::string& text) {
  const auto uid = text.find("uid=");
  const auto groups = text.find("groups=");
  if (uid == std::string::npos || groups == std::string::npos) return std::nullopt;
  Caller caller;
  caller.uid = number_at(text, uid + 4);
  if (const auto open = text.find('('); open < text.find(' '))
    caller.name = text.substr(open + 1, text.find(')') - open - 1);
  for (auto at = groups + 6; at != std::string::npos; at = text.find(',', at + 1))
    caller.gids.push_back(number_at(text, at + 1));
  return caller;
}

// Calls `use` with name and number of each line NAME:PASSWORD:NUMBER:...
template <typename Use>
void each_account(const std::optional<std::string>& text, Use use) {
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto name = line.find(':');
    const auto number = line.find(':', std::min(name, line.size() - 1) + 1);
    if (number != std::string::npos) use(line.substr(0, name), number_at(line, number + 1));
  }
}

Caller this_process(const RootedFiles& files) {
  Caller caller;
  caller.uid = ::geteuid();
  caller.gids.resize(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(caller.gids.size()), caller.gids.data());
  caller.gids.resize(static_cast<std::size_t>(std::max(0, count)));
  caller.gids.push_back(::getegid());
  each_account(files.read("/etc/passwd"), [&](const std::string& name, unsigned uid) {
    if (uid == caller.uid && caller.name.empty()) caller.name = name;
  });
  return caller;
}

// ---- nodes ----

constexpr std::string_view kCapabilityNode = "/dev/nvidia-caps/nvidia-cap";

bool is_node_name(std::string_view path) {
  return path.starts_with("/dev/dri/renderD") || path.starts_with(kCapabilityNode) ||
         (path.starts_with("/dev/nvidia") && path.find('/', 5) == std::string_view::npos);
}

bool may_open(const Node& node, const Caller& caller) {
  if (caller.uid == 0) return true;
  const bool member = std::find(caller.gids.begin(), caller.gids.end(), node.gid) != caller.gids.end();
  const unsigned shift = node.uid == caller.uid ? 6 : member ? 3 : 0;
  return ((node.mode >> shift) & 6U) == 6U;
}

// Uses access(2), because the mode alone does not show access lists and device cgroups. For the rules of a device
// cgroup the kernel returns EPERM instead of EACCES (devcgroup_inode_permission() in fs/namei.c). The driver is not
// involved, so the call cannot hang.
void add_node(const RootedFiles& files, const std::string& path, Host& host) {
  const std::string place = files.place(path);
  struct stat status {};
  const int failed =
      files.is_whole_machine() ? ::stat(place.c_str(), &status) : ::lstat(place.c_str(), &status);
  if (failed != 0 || !S_ISCHR(status.st_mode)) return;
  const int refusal = ::access(place.c_str(), R_OK | W_OK) == 0 ? 0 : errno;
  host.nodes.push_back(
      {path, status.st_mode & 07777U, status.st_uid, status.st_gid, refusal == 0, refusal == EPERM});
}

void read_nodes(const RootedFiles& files, Host& host) {
  for (const std::string directory : {"/dev/dri/", "/dev/", "/dev/nvidia-caps/"}) {
    for (const auto& name : files.names(directory)) {
      if (is_node_name(directory + name)) add_node(files, directory + name, host);
    }
  }
  for (const auto& name : files.names("/dev/dri/by-path")) {
    if (const auto target = files.resolve("/dev/dri/by-path/" + name))
      host.by_path.push_back(std::filesystem::path(*target).filename());
  }
}

// Parses a line of `find -printf '%m %U %G %p %l\n'`.
Result<void> read_listed_node(const std::string& line, Host& host) {
  std::istringstream words(line);
  std::string mode;
  std::string path;
  std::string target;
  Node node;
  if (!(words >> mode >> node.uid >> node.gid >> path) ||
      std::from_chars(mode.data(), mode.data() + mode.size(), node.mode, 8).ptr !=
          mode.data() + mode.size()) {
    return Error::usage(fmt::format("read dev.list: \"{}\" is not MODE USER GROUP PATH [TARGET]", line),
                        "It is made by find /dev/dri /dev/nvidia* -printf '%m %U %G %p %l\\n'.");
  }
  words >> target;
  if (path.starts_with("/dev/dri/by-path/")) {
    host.by_path.push_back(std::filesystem::path(target).filename());
  } else if (is_node_name(path)) {
    node.path = path;
    node.openable = host.caller && may_open(node, *host.caller);
    host.nodes.push_back(std::move(node));
  }
  return {};
}

Result<void> read_listed_nodes(const RootedFiles& files, Host& host) {
  std::istringstream lines(files.read("/dev.list").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (const auto read = read_listed_node(line, host); !read) return read;
  }
  return {};
}

// ---- MIG ----

constexpr const char* kCapabilities = "/proc/driver/nvidia/capabilities";

// Each capability has a file with a line "DeviceFileMinor: 66" (MIG User Guide, Device Nodes and Capabilities).
void add_capability(const RootedFiles& files, const std::string& directory, const std::string& name,
                    Host& host) {
  const auto text = files.read(directory + "/access");
  const auto minor = text ? whole_number(field(*text, "DeviceFileMinor:")) : std::nullopt;
  if (minor) host.mig.push_back({name, *minor});
}

void read_mig(const RootedFiles& files, Host& host) {
  const auto cards = files.names(kCapabilities);
  host.mig_known = !cards.empty();
  for (const auto& card : cards) {
    const std::string parts = fmt::format("{}/{}/mig", kCapabilities, card);
    for (const auto& instance : files.names(parts)) {
      if (!card.starts_with("gpu") || !instance.starts_with("gi")) continue;
      const std::string directory = parts + "/" + instance;
      add_capability(files, directory, card + "/" + instance, host);
      for (const auto& part : files.names(directory)) {
        if (part.starts_with("ci"))
          add_capability(files, directory + "/" + part, fmt::format("{}/{}/{}", card, instance, part), host);
      }
    }
  }
  std::istringstream names(files.read("/proc/driver/nvidia-caps/mig-minors").value_or(""));
  std::string name;  // example: "gpu0/gi7/ci0/access 67"
  for (unsigned minor = 0; names >> name >> minor;) {
    if (name.starts_with("gpu")) host.mig_names[minor] = name.substr(0, name.rfind('/'));
  }
}

// ---- CDI ----

constexpr std::size_t kMostSpecs = 256;  // per directory

std::vector<CdiSpec> read_specs_in(const RootedFiles& files, const std::string& directory) {
  std::vector<CdiSpec> specs;
  for (const auto& name : files.names(directory)) {
    if (!name.ends_with(".yaml") && !name.ends_with(".json")) continue;
    if (specs.size() == kMostSpecs) break;
    const std::string file = directory + "/" + name;
    if (const auto text = files.contents(file)) specs.push_back(read_cdi_spec(file, *text));
  }
  return specs;
}

// Returns false if the directory cannot be read.
bool is_absent(const RootedFiles& files, const std::string& path) {
  const auto names = files.names(std::filesystem::path(path).parent_path());
  const std::string name = std::filesystem::path(path).filename();
  return !names.empty() && std::ranges::find(names, name) == names.end();
}

// Reads the specifications of both directories. If both define a kind, the later directory has priority (package cdi of
// cncf-tags/container-device-interface).
void read_cdi(const RootedFiles& files, Host& host) {
  host.cdi = read_specs_in(files, "/var/run/cdi");
  const std::vector<CdiSpec> first = host.cdi;
  for (CdiSpec& spec : read_specs_in(files, "/etc/cdi")) {
    if (std::ranges::find(first, spec.kind, &CdiSpec::kind) == first.end())
      host.cdi.push_back(std::move(spec));
  }
  for (const CdiSpec& spec : host.cdi) {
    for (const std::string& path : spec.host_paths) {
      if (is_libcuda(path) && is_absent(files, path)) host.missing.insert(path);
    }
  }
}

// ---- libraries ----

void read_libraries(const RootedFiles& files, const std::string& ld_library_path, Host& host) {
  const auto directories = system_library_directories(ld_library_path, files);
  for (const char* name : kLibraries) {
    for (const auto& directory : directories) {
      const std::string path = directory + "/" + name;
      if (const auto target = files.resolve(path)) host.libraries[name].push_back({path, *target});
    }
  }
}

// Docker and podman create a marker file. Other engines set `container` for the first process (systemd's convention).
bool is_container(const RootedFiles& files) {
  return files.exists("/.dockerenv") || files.exists("/run/.containerenv") ||
         files.exists("/run/systemd/container") ||
         (files.is_whole_machine() && std::getenv("KUBERNETES_SERVICE_HOST") != nullptr);
}

}  // namespace

const StackFact* Host::fact(const std::string& name) const {
  for (const auto& fact : facts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

std::optional<std::string> Host::value(const std::string& name) const {
  const StackFact* found = fact(name);
  return found == nullptr ? std::nullopt : found->value;
}

const Node* Host::node(const std::string& path) const {
  for (const auto& node : nodes) {
    if (node.path == path) return &node;
  }
  return nullptr;
}

bool Host::exposes(std::string_view nodes) const {
  if (!container || !nodes_known) return true;
  return std::any_of(this->nodes.begin(), this->nodes.end(),
                     [&](const Node& node) { return node.path.starts_with(nodes); });
}

const FoundLibrary* Host::library(const std::string& name) const {
  const auto found = libraries.find(name);
  return found == libraries.end() ? nullptr : &found->second.front();
}

Result<Host> read_host(const std::string& root, const std::string& ld_library_path,
                       const std::optional<std::string>& image_digest) {
  std::error_code error;
  if (!std::filesystem::is_directory(root, error))
    return Error::usage("read --root " + root + ": no such directory");
  const RootedFiles files(root);
  Host host;
  host.facts = capture_stack(root, files.is_whole_machine() ? image_digest : std::nullopt);
  host.cards = read_cards(files);
  host.container = is_container(files);
  if (const auto status = files.read("/proc/self/status"))
    host.memory_use_reported = may_see_memory_use(*status, files.read("/proc/self/uid_map").value_or(""));
  each_account(files.read("/etc/group"),
               [&](const std::string& name, unsigned gid) { host.groups.emplace(gid, name); });
  read_mig(files, host);
  read_cdi(files, host);
  const bool whole = files.is_whole_machine();
  host.caller = whole ? this_process(files) : parse_id(files.read("/id").value_or(""));
  if (whole || !files.exists("/dev.list")) {
    read_nodes(files, host);
  } else if (const auto read = read_listed_nodes(files, host); !read) {
    return read.error();
  }
  host.nodes_known = whole || files.exists("/dev.list") || !host.nodes.empty();
  read_libraries(files, whole ? ld_library_path : files.read("/library_path").value_or(""), host);
  return host;
}

namespace {

constexpr std::string_view kBlank = " \t";

// A key follows the start of the line, a blank, a list's dash, or a bracket or comma of a flow mapping (also JSON).
bool may_precede_key(char c) { return std::string_view(" \t-{,\"'").find(c) != std::string_view::npos; }

// Returns "nvidia.com/gpu" of `"nvidia.com/gpu", ...`. A plain value ends with the line, a comma, a bracket or a
// comment.
std::string value_at(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
  if (rest.empty()) return {};
  if (rest.front() == '"' || rest.front() == '\'') {
    const auto end = rest.find(rest.front(), 1);
    return end == rest.npos ? std::string() : std::string(rest.substr(1, end - 1));
  }
  const auto end = std::min(rest.find_first_of(",}]"), rest.find(" #"));
  return std::string(trimmed(rest.substr(0, end)));
}

std::vector<std::string> values_of(std::string_view text, std::string_view key) {
  std::vector<std::string> values;
  for (const std::string_view line : lines_of(text)) {
    if (trimmed(line).starts_with('#')) continue;
    for (auto at = line.find(key); at != line.npos; at = line.find(key, at + key.size())) {
      if (at > 0 && !may_precede_key(line[at - 1])) continue;
      std::string_view rest = line.substr(at + key.size());
      if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
      if (rest.starts_with(':')) values.push_back(value_at(rest.substr(1)));
    }
  }
  std::erase(values, "");
  return values;
}

}  // namespace

bool is_libcuda(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("libcuda.so."); }

std::string driver_version_of(std::string_view path) {
  const auto at = path.rfind(".so.");
  const std::string_view version = at == path.npos ? "" : path.substr(at + 4);
  const auto dot = std::min(version.find_first_not_of("0123456789"), version.size());
  return dot >= 3 && version.substr(dot).starts_with('.') ? std::string(version) : std::string();
}

bool CdiSpec::is_nvidia() const {
  const std::string_view vendor = std::string_view(kind).substr(0, kind.find('/'));
  return vendor == "nvidia.com" || vendor.ends_with(".nvidia.com");
}

CdiSpec read_cdi_spec(std::string file, std::string_view text) {
  CdiSpec spec{.file = std::move(file)};
  const auto kinds = values_of(text, "kind");
  if (!kinds.empty()) spec.kind = kinds.front();
  spec.host_paths = values_of(text, "hostPath");
  spec.nodes = values_of(text, "path");
  std::erase_if(spec.nodes, [](const std::string& path) { return !path.starts_with("/dev/"); });
  return spec;
}

}  // namespace proctor
