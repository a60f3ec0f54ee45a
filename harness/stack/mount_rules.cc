#include "harness/stack/mount_rules.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "harness/core/words.h"
#include "harness/stack/run_line.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHasTheHost = "a container with the engine's socket controls the host";

fs::path without_end_slash(fs::path path) {
  return path.has_relative_path() && !path.has_filename() ? path.parent_path() : path;
}

// The place itself, or one in it. Both are absolute and without "..".
bool is_in(const fs::path& place, const fs::path& directory) {
  const fs::path relative = place.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

// As it is in our images, where an engine follows these links.
fs::path place_in_image(std::string_view target) {
  const fs::path place = without_end_slash(fs::path(target).lexically_normal());
  for (const auto& [link, means] : {std::pair("/var/run", "/run"), std::pair("/var/lock", kLeasesInImage)}) {
    if (is_in(place, link))
      return without_end_slash((fs::path(means) / place.lexically_relative(link)).lexically_normal());
  }
  return place;
}

// Those of users; those of the system are in /run.
std::vector<fs::path> engine_sockets() {
  std::vector<fs::path> all;
  for (const char* name : {"DOCKER_HOST", "CONTAINER_HOST"}) {
    constexpr std::string_view kUnix = "unix://";
    const char* value = std::getenv(name);
    if (value != nullptr && std::string_view(value).starts_with(kUnix))
      all.emplace_back(std::string_view(value).substr(kUnix.size()));
  }
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    all.emplace_back(fs::path(runtime) / "docker.sock");
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    for (const char* socket : {".docker/run/docker.sock", ".docker/desktop/docker.sock"}) {
      std::error_code none;
      if (fs::exists(fs::path(home) / socket, none)) all.push_back(fs::path(home) / socket);
    }
  }
  return all;
}

bool has_engine_socket(const fs::path& place) {
  return std::ranges::any_of(engine_sockets(), [&](const fs::path& socket) {
    std::error_code failed;
    const fs::path canonical = fs::weakly_canonical(socket, failed);
    return !failed && is_in(canonical, place);
  });
}

}  // namespace

bool is_plain_name(std::string_view text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !text.empty() && plain(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text,
                             [&](unsigned char c) { return plain(c) || c == '_' || c == '.' || c == '-'; });
}

std::optional<std::string> why_no_source(const std::string& path) {
  std::error_code failed, none;
  const fs::path place = without_end_slash(fs::weakly_canonical(path, failed));
  if (failed) return "it cannot be resolved: " + failed.message();
  if (place == "/" || fs::equivalent(place, "/", none))
    return "the container would see all files of the host";
  for (const char* kernels : {"/proc", "/sys"}) {
    if (is_in(place, kernels)) return std::string("files in the host's ") + kernels + " control the host";
  }
  if (is_in(place, "/run"))
    return std::string("/run contains the sockets of the host's services; ") + kHasTheHost;
  if (has_engine_socket(place)) return kHasTheHost;
  if (is_in(place, "/dev") && (place == "/dev/shm" || !is_in(place, "/dev/shm")))
    return "pass devices with --device; /dev/shm is shared by all processes";
  if (fs::exists(place, none) && !fs::is_directory(place, none) && !fs::is_regular_file(place, none))
    return "it is neither a directory nor a file";
  return std::nullopt;
}

// What lies over a directory of ours, or in it, stands for what the run line puts there.
std::optional<std::string> why_no_target(std::string_view target) {
  if (!target.starts_with('/')) return "it has no absolute path in the container";
  const fs::path place = place_in_image(target);
  const auto touches = [&](const char* ours) { return is_in(ours, place) || is_in(place, ours); };
  if (touches(kLeasesInImage))
    return "it would hide the host's leases, and two runs could lease the same device";
  if (touches(kProctorInImage)) return std::string("Proctor itself is at ") + kProctorInImage;
  for (const char* masked : {"/proc", "/sys"}) {
    if (touches(masked)) return std::string("the engine masks files in ") + masked;
  }
  return std::nullopt;
}

std::optional<std::string> why_no_volume(std::string_view value) {
  const auto parts = split(value, ':');
  if (parts.size() == 1) return why_no_target(value);
  const std::string source(parts[0]);
  if (!source.starts_with('/') && !is_plain_name(source))
    return "its source is neither an absolute path nor a volume's name";
  if (source.starts_with('/')) {
    if (auto why = why_no_source(source)) return why;
  }
  if (parts.size() > 3) return "it has more than a source, a target and options";
  for (const std::string_view option : split(parts.size() > 2 ? parts[2] : std::string_view("rw"), ',')) {
    if (option != "ro" && option != "rw" && option != "z" && option != "Z")
      return "only the volume options ro, rw, z and Z are known to keep containment";
  }
  return why_no_target(parts[1]);
}

}  // namespace proctor
