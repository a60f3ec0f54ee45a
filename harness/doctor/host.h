// Host describes the accelerators of a machine as its files show them: cards, nodes, drivers, libraries, and the user.
// read_host() reads only files, so it also works on the files of another machine. The checks of doctor use it.
//
// CdiSpec is a specification of the container device interface (CDI, by cncf-tags/container-device-interface). It
// contains only the values that doctor compares with the machine.
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
  std::vector<std::string> host_paths{};  // paths on the host of its mounts and nodes
  std::vector<std::string> nodes{};       // paths of device nodes in the container: "/dev/nvidia0"

  // Returns true also for "k8s.device-plugin.nvidia.com/gpu": each NVIDIA generator has its own vendor name.
  bool is_nvidia() const;
};

bool is_libcuda(std::string_view path);  // checks the name only
// Returns "580.65.06" of ".../libcuda.so.580.65.06"; "" for a name without a driver version. A driver version has at
// least three digits before its first dot. Tegra and WSL have libcuda.so.1.1 with any driver version.
std::string driver_version_of(std::string_view path);

// Reads the values of `kind`, `hostPath` and `path` at any place in YAML or JSON text. Other text is ignored. A `path`
// that is not below /dev belongs to a hook and is left out.
CdiSpec read_cdi_spec(std::string file, std::string_view text);

// A display or compute device of Intel or NVIDIA on the PCI bus.
struct Card {
  std::string address{};            // "0000:03:00.0"
  std::string id{};                 // "8086:e223"
  std::string driver{};             // "xe"; "" if no driver is bound
  std::string model{};              // name from NVIDIA's driver; "" otherwise
  std::optional<unsigned> minor{};  // N of the card's /dev/nvidiaN, from NVIDIA's driver
  std::string render_node{};        // "renderD128", created by the kernel's driver; "" if it has none

  bool is_intel() const { return id.starts_with("8086:"); }
  bool is_nvidia() const { return id.starts_with("10de:"); }
};

struct Node {
  std::string path{};
  unsigned mode = 0;
  unsigned uid = 0;
  unsigned gid = 0;
  bool openable = false;   // by the caller
  bool ruled_out = false;  // a device cgroup forbids to open the node, not its mode
};

// The user who opens the devices.
struct Caller {
  unsigned uid = 0;
  std::string name{};
  std::vector<unsigned> gids{};
};

// A library in a directory that the dynamic linker searches.
struct FoundLibrary {
  std::string path{};
  std::string target{};  // the path with all links resolved
};

// A part of a card, or a right to use it, that NVIDIA's driver lists. The node /dev/nvidia-caps/nvidia-capMINOR gives a
// process access to it.
struct MigCapability {
  std::string name{};  // "gpu0/gi7/ci0"
  unsigned minor = 0;
};

struct Host {
  Fingerprint facts{};
  std::vector<Card> cards{};
  bool nodes_known = false;            // for another machine, only if dev.list exists
  std::vector<Node> nodes{};           // /dev/dri/renderD*, /dev/nvidia*, /dev/nvidia-caps/*
  std::vector<std::string> by_path{};  // names of the targets in /dev/dri/by-path: "renderD128"
  std::optional<bool>
      memory_use_reported{};  // harness/base/backend.h; none if the files of another machine do not contain it
  std::optional<Caller> caller{};  // none for another machine without the file `id`
  std::map<unsigned, std::string> groups{};
  bool container = false;
  std::vector<CdiSpec> cdi{};                   // specifications that a container engine uses
  bool mig_known = false;                       // true if the driver lists the instances
  std::vector<MigCapability> mig{};             // existing instances
  std::map<unsigned, std::string> mig_names{};  // names of all possible instances, by minor number
  std::set<std::string> missing{};              // files that `cdi` names and that do not exist on this host
  std::map<std::string, std::vector<FoundLibrary>> libraries{};  // by name, in the linker's order

  const StackFact* fact(const std::string& name) const;
  std::optional<std::string> value(const std::string& name) const;
  const Node* node(const std::string& path) const;
  // Returns false if this is a container and no node has a name that begins with `nodes` ("/dev/nvidia"). A container
  // can have only some cards of its host, but sees all on the PCI bus. Outside of containers the result is always true.
  bool exposes(std::string_view nodes) const;
  const FoundLibrary* library(const std::string& name) const;  // the one that the linker uses
};

// Reads the machine whose files are below `root`. For "/", everything is read at its place. Below another directory,
// three extra files replace what files of the machine cannot show (docs/reference/doctor.md): dev.list, id and
// library_path. Without dev.list, existing device nodes below `root` are used.
Result<Host> read_host(const std::string& root, const std::string& ld_library_path,
                       const std::optional<std::string>& image_digest);

}  // namespace proctor
