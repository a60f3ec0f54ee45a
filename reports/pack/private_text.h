// Replaces names of people and machines in texts that leave the machine. The same name becomes the
// same word in all texts. Example:
//
//   PrivateText names({.hosts = {"gpu-07"}, .users = {"alice"}, .directories = {{"/home/alice", "HOME"}}});
//   names.hide("gpu-07: /home/alice/out, opened by alice");    // "HOST: HOME/out, opened by USER"
//   names.hide("8680a056-0800-0000-0300-000000000000");        // "00000000-0000-0000-0000-000000000001"
//
// A host or user name counts as a whole word only. A name in `words` stays, because the texts contain that word anyway:
// a user `memory` must not change the name of a suite.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace proctor {

// The names to replace, and the words to keep.
struct PrivateNames {
  std::vector<std::string> hosts{};  // with or without their domain
  std::vector<std::string> users{};
  std::vector<std::string> addresses{};  // addresses of network interfaces, as text
  // Directories and their replacements. The longest matching directory is replaced.
  std::vector<std::pair<std::string, std::string>> directories{};
  std::set<std::string> words{};
};

// Replaces the names in texts, and numbers the UUIDs in the order in which it finds them.
class PrivateText {
 public:
  explicit PrivateText(PrivateNames names);

  // Also replaces UUIDs with and without dashes, the first part of a path below /home, the command lines in messages
  // about holders of devices and leases, and the processes that kernel drivers name: "Timedout job in a process [123]".
  std::string hide(std::string_view text);
  // Calls hide() for each string in the document. The keys stay.
  void hide_in(nlohmann::json& document);

 private:
  std::string without_uuids(std::string_view text);

  PrivateNames names_;
  std::map<std::string, std::string> uuids_;  // the replacement of each UUID, by its digits in lower case
};

// Returns the lines of a kernel log about Intel GPUs, their drivers and PCI ports.
std::string graphics_lines(std::string_view log);

}  // namespace proctor
