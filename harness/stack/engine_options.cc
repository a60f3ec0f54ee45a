#include "harness/stack/engine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "harness/core/text.h"
#include "harness/core/words.h"
#include "harness/stack/mount_rules.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

struct KnownOption {
  std::string_view name;
  bool has_value = true;
  bool of_buildah = false;  // `buildah run` has it as well
};

constexpr KnownOption kAllowed[] = {{"--add-host"},
                                    {"--cap-add"},
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
    {"--privileged",
     "the container would have every device and capability of the host, and no seccomp filter"},
    {"--pid", "the container could see and kill processes outside it"},
    {"--ipc", "the container would share memory with other containers, and its own would leak"},
    {"--cgroupns", "the container could see and change cgroups outside it"},
    {"--userns", "the lease files would have no owner in the container"},
    {"--user", "the user of Proctor's images is other than root, and it owns their directories"},
    {"--cap-drop", "all capabilities are dropped already"},
    {"--gpus", "the stack's lock selects the devices; narrow them with CUDA_VISIBLE_DEVICES"},
    {"--mount", "Proctor cannot check it; use --volume=SOURCE:TARGET[:ro] or --tmpfs"},
    {"--entrypoint", "write the command after --"},
    {"--rm", "Proctor adds it already"},
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
  return Error::usage(fmt::format("start the container with {}: {}", clean_text(word), why),
                      "Leave it out. To use it anyway, print the command line with `--print`, change it and "
                      "run it yourself.");
}

std::optional<std::string> why_no_device(std::string_view value) {
  const fs::path path(value);
  const bool is_gpu =
      value == "/dev/dri" || value.starts_with("/dev/dri/") || value.starts_with("/dev/nvidia");
  if (is_gpu && path.lexically_normal() == path && value.find(':') == value.npos) return std::nullopt;
  if (value.starts_with("nvidia.com/gpu=")) return std::nullopt;
  return "only GPUs can be passed, under their own names: /dev/dri, /dev/nvidia..., nvidia.com/gpu=...";
}

// With CAP_PERFMON a process looks at the counters of all, and changes nothing.
std::optional<std::string> why_no_capability(std::string_view value) {
  if (value == "PERFMON" || value == "CAP_PERFMON") return std::nullopt;
  return "only PERFMON is allowed, which Intel's drivers require to report used memory; with any other, a "
         "test could leave its containment";
}

std::optional<std::string> why_no_security(std::string_view value) {
  constexpr std::string_view kLevel = "label=level:", kProfile = "apparmor=";
  if (value == "label=disable" || value.starts_with(kLevel)) return std::nullopt;
  if (value == "systempaths=unconfined" || value.starts_with("unmask=")) return std::nullopt;
  if (value.starts_with("seccomp"))
    return "the containment layer pidns requires the profile of the stack, which allows nothing more";
  if (value == "apparmor=unconfined")
    return "if user namespaces are restricted (Ubuntu 24.04), a process without a profile cannot create them";
  if (value.starts_with(kProfile) && is_plain_name(value.substr(kProfile.size()))) return std::nullopt;
  return "it is not known to keep containment";
}

std::optional<std::string> why_no_network(std::string_view value) {
  if (value.starts_with("container:")) return "it would belong to another container";
  if (is_plain_name(value)) return std::nullopt;
  return "it is not the name of a network";
}

std::optional<std::string> why_no_runtime(std::string_view value) {
  for (const char* known : {"runc", "crun", "nvidia"}) {
    if (value == known) return std::nullopt;
  }
  return "only runc, crun and nvidia are known to apply all options";
}

std::optional<std::string> why_not(std::string_view name, std::string_view value) {
  if (name == "--volume") return why_no_volume(value);
  if (name == "--tmpfs") return why_no_target(split(value, ':').front());
  if (name == "--cap-add") return why_no_capability(value);
  if (name == "--device") return why_no_device(value);
  if (name == "--security-opt") return why_no_security(value);
  if (name == "--network") return why_no_network(value);
  if (name == "--runtime") return why_no_runtime(value);
  return std::nullopt;
}

// "-it" is -i -t; "-v" is --volume.
Result<std::vector<std::string>> in_long(const std::string& word) {
  if (word.starts_with("--")) return std::vector<std::string>{word};
  if (word.size() < 2 || word[0] != '-') return refused(word, "it is not an option");
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
