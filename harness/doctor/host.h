// What a machine's files say about its accelerators: cards, nodes, drivers, libraries, and who wants to use
// them. It is read from files only, so that the files of another machine can be used as well.
//
// What a specification of the container device interface (CDI, by cncf-tags/container-device-interface) gives to
// containers, as far as doctor compares it with the machine.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/stack/fingerprint.h"

namespace proctor {

struct CdiSpec {
  std::string file{};
  std::string kind{};                     // "nvidia.com/gpu"
  std::vector<std::string> host_paths{};  // of its mounts and nodes
  std::vector<std::string> nodes{};       // device nodes in the container: "/dev/nvidia0"

  // Also "k8s.device-plugin.nvidia.com/gpu": each generator of NVIDIA's has a vendor name of its own.
  bool is_nvidia() const;
};

bool is_libcuda(std::string_view path);  // by its name
// "580.65.06" of ".../libcuda.so.580.65.06"; "" for a name without the version of a driver, which has three digits at
// least before its first dot. Tegra and WSL have libcuda.so.1.1 with drivers of any version.
std::string driver_version_of(std::string_view path);

// Reads the values of `kind`, `hostPath` and `path` in YAML and in JSON, wherever they stand. Of anything else, and of a
// text that is neither, it reads nothing. A `path` that is not below /dev is that of a hook.
CdiSpec read_cdi_spec(std::string file, std::string_view text);

// A display or compute device of Intel's or NVIDIA's on the PCI bus.
struct Card {
  std::string address{};            // "0000:03:00.0"
  std::string id{};                 // "8086:e223"
  std::string driver{};             // "xe"; "" where none is bound
  std::string model{};              // as NVIDIA's driver gives it; "" otherwise
  std::optional<unsigned> minor{};  // N of its /dev/nvidiaN, as NVIDIA's driver gives it
  std::string render_node{};        // "renderD128", as the kernel's driver made it; "" where it made none

  bool is_intel() const { return id.starts_with("8086:"); }
  bool is_nvidia() const { return id.starts_with("10de:"); }
};

struct Node {
  std::string path{};
  unsigned mode = 0;
  unsigned uid = 0;
  unsigned gid = 0;
  bool openable = false;   // by the caller
  bool ruled_out = false;  // not openable, and not for its mode: the rules of a device cgroup forbid it
};

// Who wants to use the devices.
struct Caller {
  unsigned uid = 0;
  std::string name{};
  std::vector<unsigned> gids{};
};

// A library where the dynamic linker looks for it.
struct FoundLibrary {
  std::string path{};
  std::string target{};  // the file behind its links
};

// A part of a card, or a right to use one, that NVIDIA's driver has: the node /dev/nvidia-caps/nvidia-capMINOR gives
// it to a process.
struct MigCapability {
  std::string name{};  // "gpu0/gi7/ci0"
  unsigned minor = 0;
};

struct Host {
  Fingerprint facts{};
  std::vector<Card> cards{};
  bool nodes_known = false;            // for another machine, only if dev.list names them
  std::vector<Node> nodes{};           // /dev/dri/renderD*, /dev/nvidia*, /dev/nvidia-caps/*
  std::vector<std::string> by_path{};  // the targets' names in /dev/dri/by-path: "renderD128"
  std::optional<bool>
      memory_use_reported{};       // harness/base/backend.h; none if another machine's files do not say it
  std::optional<Caller> caller{};  // none if another machine's files are read
  std::map<unsigned, std::string> groups{};
  bool container = false;
  std::vector<CdiSpec> cdi{};                   // those that a container engine uses
  bool mig_known = false;                       // the driver says which instances there are
  std::vector<MigCapability> mig{};             // those that there are
  std::map<unsigned, std::string> mig_names{};  // of all that there could be
  std::set<std::string> missing{};              // files that `cdi` names and that are not on this host
  std::map<std::string, std::vector<FoundLibrary>> libraries{};  // by name, in the linker's order

  const StackFact* fact(const std::string& name) const;
  std::optional<std::string> value(const std::string& name) const;
  const Node* node(const std::string& path) const;
  // A container may be given some of its host's cards; it sees all of them on the bus. False if no node has a
  // name that begins like this ("/dev/nvidia"). Outside of containers always true.
  bool exposes(std::string_view nodes) const;
  const FoundLibrary* library(const std::string& name) const;  // the one that the linker takes
};

// Reads the machine whose files are below `root`. For "/" everything is read in its place. Below another
// directory, three extra files give what the machine's own files cannot (docs/reference/doctor.md): dev.list, id and
// library_path. Without dev.list, device nodes that are below it are taken as they are.
Result<Host> read_host(const std::string& root, const std::string& ld_library_path,
                       const std::optional<std::string>& image_digest);

}  // namespace proctor
