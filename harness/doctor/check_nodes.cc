// Checks device nodes: that they exist, can be opened, and are found by PCI address.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/doctor/examination.h"

namespace proctor {
namespace {

bool runs_intel_driver(const Card& card) { return card.driver == "xe" || card.driver == "i915"; }

// A device node that programs need on this host.
struct NeededNode {
  std::string path{};
  const Card* card = nullptr;  // null if all NVIDIA cards share the node or its card is unknown
  bool shared_by_all = false;
};

bool is_nvidia_card_node(std::string_view path) {
  constexpr std::string_view kCard = "/dev/nvidia";
  return path.starts_with(kCard) && path.size() > kCard.size() &&
         path.find_first_not_of("0123456789", kCard.size()) == path.npos;
}

// Returns the nodes that a CUDA program opens: one node per card and two shared ones. A container may hide
// /proc/driver, and then the drivers report no card numbers. In that case any existing card node suffices, but there
// must be one.
std::vector<NeededNode> nvidia_nodes(const Host& host) {
  std::vector<NeededNode> needed = {{"/dev/nvidiactl", nullptr, true}, {"/dev/nvidia-uvm", nullptr, true}};
  const std::size_t shared = needed.size();
  for (const auto& card : host.cards) {
    if (card.is_nvidia() && card.driver == "nvidia" && card.minor)
      needed.push_back({fmt::format("/dev/nvidia{}", *card.minor), &card, false});
  }
  if (needed.size() > shared) return needed;
  for (const auto& node : host.nodes) {
    if (is_nvidia_card_node(node.path)) needed.push_back({node.path, nullptr, false});
  }
  if (needed.size() == shared) needed.push_back({"/dev/nvidia0", nullptr, false});
  return needed;
}

bool uses_nvidia_driver(const Host& host) {
  return std::any_of(host.cards.begin(), host.cards.end(),
                     [](const Card& card) { return card.is_nvidia() && card.driver == "nvidia"; });
}

std::vector<NeededNode> intel_nodes(const Host& host) {
  std::vector<NeededNode> needed;
  for (const auto& card : host.cards) {
    if (card.is_intel() && runs_intel_driver(card) && !card.render_node.empty())
      needed.push_back({"/dev/dri/" + card.render_node, &card, false});
  }
  return needed;
}

std::vector<NeededNode> needed_nodes(const Host& host, Backend backend) {
  if (backend == Backend::kXpu) return intel_nodes(host);
  return uses_nvidia_driver(host) ? nvidia_nodes(host) : std::vector<NeededNode>();
}

std::vector<NeededNode> needed_nodes(const Host& host) {
  std::vector<NeededNode> needed = needed_nodes(host, Backend::kXpu);
  for (auto& node : needed_nodes(host, Backend::kCuda)) needed.push_back(std::move(node));
  return needed;
}

// Returns whether the caller should have this node. A container with other devices may lack it on purpose. A container
// with only some of the nodes of one vendor may not.
bool is_meant(const Host& host, const NeededNode& node) {
  if (host.nodes.empty() || !host.container) return true;
  if (node.path.starts_with("/dev/dri/") || !host.exposes("/dev/nvidia")) return false;
  return node.shared_by_all || std::none_of(host.nodes.begin(), host.nodes.end(), [](const Node& other) {
           return is_nvidia_card_node(other.path);
         });
}

void add_missing(Examination& examination, const NeededNode& node) {
  const bool meant = is_meant(examination.host(), node);
  const std::string address = node.card == nullptr ? "" : node.card->address;
  std::string what;
  if (!meant) {
    what = address.empty() ? "this container cannot access a card of its host"
                           : fmt::format("this container cannot access the card {} of its host", address);
  } else if (node.shared_by_all) {
    what = "a device node that every NVIDIA card needs is missing";
  } else {
    what = fmt::format("the device node of {} is missing", address.empty() ? "a card" : "card " + address);
  }
  const std::string fix =
      node.path.starts_with("/dev/dri/")
          ? examination.fix("sudo udevadm trigger --subsystem-match=drm",
                            "start the container with --device /dev/dri")
          : examination.fix(
                fmt::format("sudo nvidia-modprobe -u -c {}", node.card ? node.card->minor.value_or(0) : 0),
                "start the container with --gpus all or --device nvidia.com/gpu=all");
  examination.add({meant ? HostState::kBroken : HostState::kWarn, "nodes", what, node.path, fix, {}});
}

std::string group_words(const Host& host, unsigned gid) {
  const auto name = host.groups.find(gid);
  return name == host.groups.end() ? fmt::format("group {}", gid)
                                   : fmt::format("group {} ({})", gid, name->second);
}

std::string permission_fix(const Examination& examination, const Node& node) {
  const Host& host = examination.host();
  const Caller& caller = *host.caller;
  const bool member = std::find(caller.gids.begin(), caller.gids.end(), node.gid) != caller.gids.end();
  const bool group_may = (node.mode & 060U) == 060U;
  if (member && group_may) {  // the mode allows it, so something else forbids it
    return examination.fix("getfacl " + node.path,
                           fmt::format("start the container with --device {}", node.path));
  }
  if (!group_may || node.gid == 0) {
    return fmt::format("sudo chgrp render {0} && sudo chmod 0660 {0}    (a udev rule makes it last)",
                       node.path);
  }
  const auto name = host.groups.find(node.gid);
  const std::string user = caller.name.empty() ? fmt::format("{}", caller.uid) : caller.name;
  const std::string join = fmt::format("sudo usermod --append --groups {} {}    (then log in again)",
                                       name == host.groups.end() ? "render" : name->second, user);
  return examination.fix(
      name == host.groups.end() ? fmt::format("sudo groupadd --gid {} render && {}", node.gid, join) : join,
      fmt::format("start the container with --group-add {}", node.gid));
}

}  // namespace

void check_nodes(Examination& examination) {
  const Host& host = examination.host();
  const auto needed = needed_nodes(host);
  if (needed.empty()) return;
  if (!host.nodes_known) {
    return examination.add({HostState::kWarn,
                            "nodes",
                            "device nodes are not known: there is no dev.list",
                            "/dev.list",
                            "find /dev/dri /dev/nvidia* -printf '%m %U %G %p %l\\n' > DIR/dev.list",
                            {}});
  }
  std::vector<NeededNode> missing;
  for (const auto& node : needed) {
    if (host.node(node.path) == nullptr) missing.push_back(node);
  }
  if (missing.empty()) return examination.ok("nodes", fmt::format("{} device nodes are here", needed.size()));
  for (const auto& node : missing) add_missing(examination, node);
}

void check_permissions(Examination& examination) {
  const Host& host = examination.host();
  if (!host.nodes_known) return;
  std::map<unsigned, std::vector<const Node*>> closed;  // by group: one command repairs all nodes of a group
  int open = 0;
  for (const auto& needed : needed_nodes(host)) {
    const Node* node = host.node(needed.path);
    if (node == nullptr) continue;
    if (node->openable) {
      ++open;
    } else if (!node->ruled_out) {
      closed[node->gid].push_back(node);
    }
  }
  if (!host.caller) {
    if (closed.empty()) return;
    return examination.add({HostState::kWarn,
                            "permissions",
                            "the user of the devices is unknown: there is no file id",
                            "/id",
                            "id > DIR/id",
                            {}});
  }
  if (closed.empty() && open > 0)
    examination.ok("permissions", fmt::format("{} device nodes can be opened", open));
  for (const auto& [gid, nodes] : closed) {
    std::vector<std::string> paths;
    for (const Node* node : nodes) paths.push_back(node->path);
    examination.add({HostState::kBroken,
                     "permissions",
                     fmt::format("user {} may not open the device: mode {:04o}, {}", host.caller->uid,
                                 nodes.front()->mode, group_words(host, gid)),
                     fmt::format("{}", fmt::join(paths, ", ")),
                     permission_fix(examination, *nodes.front()),
                     {}});
  }
}

// A container loses access to its nodes if the device rules of its cgroup are reloaded on the host without them.
void check_device_rules(Examination& examination, Backend backend) {
  const Host& host = examination.host();
  std::vector<std::string> closed;
  bool cards_left = false;  // the caller may be limited to these cards on purpose
  bool all_need_it = false;
  for (const NeededNode& needed : needed_nodes(host, backend)) {
    const Node* node = host.node(needed.path);
    if (node == nullptr) continue;
    cards_left = cards_left || (node->openable && !needed.shared_by_all);
    if (!node->ruled_out) continue;
    closed.push_back(needed.path);
    all_need_it = all_need_it || needed.shared_by_all;
  }
  if (closed.empty()) return;
  examination.add(
      {cards_left && !all_need_it ? HostState::kWarn : HostState::kBroken,
       "device-rules",
       "the device rules of the cgroup forbid to open a node that is here: `systemctl daemon-reload` or "
       "`docker "
       "update` on the host took the device away, or it was never given",
       fmt::format("{}", fmt::join(closed, ", ")),
       examination.fix(
           fmt::format("add DeviceAllow={} rw to the systemd unit, then restart it", closed.front()),
           backend == Backend::kXpu
               ? "recreate the container with --device /dev/dri"
               : "recreate the container with --device nvidia.com/gpu=all (CDI), which keeps its "
                 "devices, instead of --gpus"),
       {"https://github.com/NVIDIA/nvidia-container-toolkit/issues/48",
        "https://github.com/NVIDIA/nvidia-container-toolkit/issues/251"}});
}

// Intel's driver looks up the cards' PCI addresses in /dev/dri/by-path first.
void check_by_path(Examination& examination) {
  const Host& host = examination.host();
  std::vector<std::string> missing;
  int found = 0;
  for (const auto& card : host.cards) {
    if (!card.is_intel() || card.render_node.empty() || host.node("/dev/dri/" + card.render_node) == nullptr)
      continue;
    if (std::find(host.by_path.begin(), host.by_path.end(), card.render_node) == host.by_path.end()) {
      missing.push_back(card.render_node);
    } else {
      ++found;
    }
  }
  if (missing.empty() && found > 0) examination.ok("by-path", "each card's node is found by its PCI address");
  if (missing.empty()) return;
  examination.add(
      {HostState::kWarn,
       "by-path",
       fmt::format("no link leads from a PCI address to {}: with several cards, a driver may confuse them",
                   fmt::join(missing, ", ")),
       "/dev/dri/by-path",
       examination.fix("sudo udevadm trigger --subsystem-match=drm",
                       "start the container with -v /dev/dri/by-path:/dev/dri/by-path:ro"),
       {"https://github.com/intel/compute-runtime/blob/master/shared/source/os_interface/linux/"
        "drm_neo.cpp"}});
}

}  // namespace proctor
