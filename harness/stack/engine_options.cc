#include "harness/stack/engine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/stack/render.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

struct KnownOption {
  std::string_view name;
  bool has_value = true;
  bool of_buildah = false;  // `buildah run` has it as well
};

constexpr KnownOption kAllowed[] = {{"--add-host"},
                                    {"--cgroup-parent"},
                                    {"--cidfile"},
                                    {"--cpus"},
                                    {"--cpuset-cpus"},
                                    {"--device"},
                                    {"--dns"},
                                    {"--env", true, true},
                                    {"--env-file"},
                                    {"--group-add"},
                                    {"--hostname", true, true},
                                    {"--interactive", false},
                                    {"--label"},
                                    {"--log-driver"},
                                    {"--memory"},
                                    {"--memory-swap"},
                                    {"--mount", true, true},
                                    {"--name"},
                                    {"--network", true, true},
                                    {"--oom-score-adj"},
                                    {"--read-only", false},
                                    {"--runtime"},
                                    {"--security-opt"},
                                    {"--stop-timeout"},
                                    {"--tmpfs"},
                                    {"--tty", false},
                                    {"--ulimit"},
                                    {"--volume", true, true},
                                    {"--workdir"}};

struct RefusedOption {
  std::string_view name;
  std::string_view why;
};

constexpr RefusedOption kRefused[] = {
    {"--privileged", "the container would have every device and right of the host, and no filter"},
    {"--cap-add", "the container needs no capability; with one, a test could leave what holds it"},
    {"--pid", "the container would see, and could end, processes that are not its own"},
    {"--ipc", "the container would share memory with others, and leave its own behind"},
    {"--cgroupns", "the container would see, and could change, the cgroups of others"},
    {"--userns", "the files of the leases would belong to nobody in the container"},
    {"--user", "the user of our images is not root, and the directories are made for it"},
    {"--cap-drop", "all capabilities are dropped already"},
    {"--gpus", "the stack's lock says which devices there are; CUDA_VISIBLE_DEVICES takes some of them away"},
    {"--entrypoint", "the command stands behind --"},
    {"--rm", "it is given already"},
    {"--detach", "the exit code would be lost"}};

struct ShortName {
  std::string_view name;
  std::string_view means;
};

constexpr ShortName kShort[] = {{"-e", "--env"},     {"-v", "--volume"}, {"-i", "--interactive"},
                                {"-t", "--tty"},     {"-u", "--user"},   {"-d", "--detach"},
                                {"-w", "--workdir"}, {"-m", "--memory"}, {"-h", "--hostname"},
                                {"-l", "--label"}};

Error refused(const std::string& word, std::string_view why) {
  return Error::usage(
      fmt::format("start the container with {}: {}", clean_text(word), why),
      "Leave it out. `--print` prints the line, for who wants to change it and start it alone.");
}

// As it is in our images, where an engine follows these links.
fs::path place_in_image(std::string_view target) {
  const fs::path place = fs::path(target).lexically_normal();
  for (const auto& [link, means] : {std::pair("/var/run", "/run"), std::pair("/var/lock", kLeasesInImage)}) {
    const fs::path rest = place.lexically_relative(link);
    if (!rest.empty() && *rest.begin() != "..") return (fs::path(means) / rest).lexically_normal();
  }
  return place;
}

// What lies over a directory hides what the run line puts there.
std::optional<std::string> hides(std::string_view target) {
  const fs::path place = place_in_image(target);
  const auto covers = [&](const char* ours) {
    const fs::path relative = fs::path(ours).lexically_relative(place);
    return !relative.empty() && *relative.begin() != "..";  // the place itself, or one above it
  };
  if (covers(kLeasesInImage))
    return "the leases would not be those of the host, and two runs could have one device";
  if (covers(kProctorInImage)) return std::string("Proctor itself is at ") + kProctorInImage;
  for (const char* ours : {"/proc", "/sys"}) {
    const fs::path relative = place.lexically_relative(ours);
    if (covers(ours) || (!relative.empty() && *relative.begin() != ".."))
      return std::string("the engine masks what is at ") + ours;
  }
  return std::nullopt;
}

std::optional<std::string> leads_out(std::string_view source) {
  const fs::path place = fs::path(source).lexically_normal();
  for (const char* socket : {"docker.sock", "podman.sock", "containerd.sock", "crio.sock"}) {
    if (place.filename() == socket) return "who has the engine's socket has the host";
  }
  if (place == "/") return "the container would have the whole host";
  return std::nullopt;
}

// --volume=SOURCE:TARGET[:...], --mount=type=bind,source=SOURCE,target=TARGET, --tmpfs=TARGET[:...]
std::optional<std::string> why_no_mount(std::string_view name, std::string_view value) {
  std::string_view source, target;
  if (name == "--mount") {
    for (const std::string_view part : split(value, ',')) {
      const auto equals = part.find('=');
      if (equals == part.npos) continue;
      const std::string_view key = part.substr(0, equals);
      if (key == "source" || key == "src") source = part.substr(equals + 1);
      if (key == "target" || key == "dst" || key == "destination") target = part.substr(equals + 1);
    }
  } else {
    const auto parts = split(value, ':');
    const bool has_source = name == "--volume" && parts.size() > 1;
    if (has_source) source = parts[0];
    target = parts[has_source ? 1 : 0];
  }
  if (!target.starts_with('/')) return "it does not say where in the container it belongs";
  if (auto why = leads_out(source)) return why;
  return hides(target);
}

std::optional<std::string> why_no_security(std::string_view value) {
  for (const char* fine : {"label=", "systempaths=unconfined", "unmask="}) {
    if (value.starts_with(fine)) return std::nullopt;
  }
  if (value.starts_with("seccomp"))
    return "the profile of the stack is what lets the containment layer pidns work, and no more";
  if (value == "apparmor=unconfined")
    return "where user namespaces are restricted (Ubuntu 24.04), a process without a profile may not make "
           "them";
  if (value.starts_with("apparmor=")) return std::nullopt;
  return "it is not one that is known to keep what holds the tests";
}

std::optional<std::string> why_not(std::string_view name, std::string_view value) {
  if (name == "--volume" || name == "--mount" || name == "--tmpfs") return why_no_mount(name, value);
  if (name == "--security-opt") return why_no_security(value);
  if (name == "--network" && value.starts_with("container:")) return "it would be another container's";
  return std::nullopt;
}

// "-it" is -i -t; "-v" is --volume.
Result<std::vector<std::string>> in_long(const std::string& word) {
  if (word.starts_with("--")) return std::vector<std::string>{word};
  if (word.size() < 2 || word[0] != '-') return refused(word, "it is no option");
  std::vector<std::string> all;
  for (const char letter : word.substr(1)) {
    const std::string name = {'-', letter};
    const auto known = std::ranges::find(kShort, std::string_view(name), &ShortName::name);
    if (known == std::end(kShort))
      return refused(word, "it is not known to keep containment and exclusivity");
    all.emplace_back(known->means);
  }
  return all;
}

}  // namespace

Result<std::vector<std::string>> read_engine_options(Engine engine, const std::vector<std::string>& words) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto names = in_long(words[i]);
    if (!names) return names.error();
    for (const std::string& word : *names) {
      const auto equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (const auto bad = std::ranges::find(kRefused, std::string_view(name), &RefusedOption::name);
          bad != std::end(kRefused))
        return refused(words[i], bad->why);
      const auto known = std::ranges::find(kAllowed, std::string_view(name), &KnownOption::name);
      if (known == std::end(kAllowed))
        return refused(words[i], "it is not known to keep containment and exclusivity");
      if (engine == Engine::kBuildah && !known->of_buildah)
        return refused(words[i], "`buildah run` does not have it; docker and podman do");
      if (!known->has_value) {
        if (equals != std::string::npos) return refused(words[i], "it takes no value");
        options.push_back(name);
        continue;
      }
      std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      if (equals == std::string::npos && ++i < words.size()) value = words[i];
      if (value.empty()) return refused(name, "its value is missing");
      const std::string option = fmt::format("{}={}", name, value);
      if (const auto why = why_not(name, value)) return refused(option, *why);
      options.push_back(option);
    }
  }
  return options;
}

}  // namespace proctor
