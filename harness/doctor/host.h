// What a machine's files say about its accelerators: cards, nodes, drivers, libraries, and who wants to use
// them. It is read from files only, so that the files of another machine can be used as well.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.h"
#include "harness/stack/fingerprint.h"

namespace proctor {

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
  bool openable = false;  // by the caller
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

struct Host {
  Fingerprint facts{};
  std::vector<Card> cards{};
  bool nodes_known = false;            // for another machine, only if dev.list names them
  std::vector<Node> nodes{};           // /dev/dri/renderD*, /dev/nvidia*
  std::vector<std::string> by_path{};  // the targets' names in /dev/dri/by-path: "renderD128"
  std::optional<bool>
      memory_use_told{};           // harness/core/perfmon.h; none if another machine's files do not say it
  std::optional<Caller> caller{};  // none if another machine's files are read
  std::map<unsigned, std::string> groups{};
  bool container = false;
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
// library_path.
Result<Host> read_host(const std::string& root, const std::string& ld_library_path,
                       const std::optional<std::string>& image_digest);

}  // namespace proctor
