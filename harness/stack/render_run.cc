// The scripts that start a container by hand, and the options of a job container.
#include <fmt/format.h>

#include "harness/stack/render.h"
#include "harness/stack/render_words.h"
#include "harness/stack/run_line.h"

namespace proctor {
namespace {

// Installed there on the host (docs/github.md): a job container starts before anything is checked out.
constexpr const char* kInstalledProfile = "/opt/proctor/share/proctor/seccomp.json";

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

const char* script_name(Engine engine) { return engine == Engine::kDocker ? "run.sh" : "podman.sh"; }

std::string usage(const StackLock& lock, Engine engine) {
  std::string text = fmt::format(
      "# usage: {2} IMAGE [ARGUMENTS OF PROCTOR]\n"
      "# PROCTOR: where Proctor is installed, or its build directory; OUT: where reports go, writable for "
      "user {1}.\n"
      "# PROCTOR_RUN_ARGS: more options for {0}, separated by blanks: --env-file=FILE for secrets,\n"
      "#   --volume=DIR:/models:ro for models.\n",
      to_string(engine), kImageUser, script_name(engine));
  if (is_xpu(lock) && engine == Engine::kPodman)  // docker gives it to root only
    text +=
        "#   --cap-add=PERFMON, and --containment subreaper for Proctor, to know what memory is in use.\n";
  if (is_cuda(lock) && engine == Engine::kDocker)
    text +=
        fmt::format("# GPUS: {} where docker has the devices by CDI; default {}.\n", kAllGpusByCdi, kAllGpus);
  if (has_cache(lock))
    text +=
        "# CACHE: a volume or directory for what the driver compiles; default: one for each mask and each "
        "SHARD.\n";
  return text;
}

// The same name as cache_volume() gives.
std::string cache_line(const StackLock& lock) {
  if (!has_cache(lock)) return {};
  return fmt::format(
      "cache=${{CACHE:-proctor-{}-$(printf '%s-%s' \"${{{}:-all}}\" \"${{SHARD:-1}}\" | tr -c 'A-Za-z0-9.-' "
      "_)}}\n",
      lock.name, mask_variable(lock));
}

// Elsewhere the host's own runs would not lease there, or the container's could not.
std::string leases_check() {
  return fmt::format(
      "if [ -z \"$(find {0} -prune -type d -user 0 -perm -1777)\" ]; then\n"
      "  echo \"{0} is not a directory of root's with mode 1777: install --directory --mode=1777 {0}\" >&2\n"
      "  exit 2\n"
      "fi\n",
      kLeasesInImage);
}

// A rootless podman has no number for the host's group; crun hands in those that the caller has.
std::string group_line(const StackLock& lock, Engine engine) {
  if (!is_xpu(lock)) return {};
  std::string text = fmt::format("render_group=$(stat -c %g {})\n", kRenderNode);
  if (engine == Engine::kPodman) text += "[ \"$(id -u)\" = 0 ] || render_group=keep-groups\n";
  return text;
}

std::string script(const StackLock& lock, Engine engine) {
  const RunPlaces places{.profile = "\"$here\"/seccomp.json",
                         .gpus = "\"$gpus\"",
                         .group = "\"$render_group\"",
                         .leases = kLeasesInImage,
                         .cache = "\"$cache\""};
  std::vector<std::string> options = {"--rm"};
  append(options, confinement(lock, places.profile));
  append(options, devices(lock, engine, places));
  append(options, shared_directories(lock, places));
  const std::string name(to_string(engine));
  options.push_back("--label=dev.proctor.stack=" + lock.name);
  options.push_back(fmt::format(
      "--env=PROCTOR_IMAGE_DIGEST=\"$({} image inspect --format '{{{{.Id}}}}' \"$image\")\"", name));
  options.push_back(fmt::format("--volume=\"${{PROCTOR:?}}\":{}:ro", kProctorInImage));
  options.push_back(fmt::format("--volume=\"${{OUT:?}}\":{}", kOutInImage));
  std::string text = "#!/bin/sh\n" + generated_note(lock) + host_note(lock) + usage(lock, engine) +
                     fmt::format(
                         "set -euf\n"
                         "image=${{1:?usage: {} IMAGE [ARGUMENTS OF PROCTOR]}}\n"
                         "shift\n"
                         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n",
                         script_name(engine));
  if (is_cuda(lock) && engine == Engine::kDocker) text += fmt::format("gpus=${{GPUS:-{}}}\n", kAllGpus);
  text += leases_check() + group_line(lock, engine) + cache_line(lock);
  text += fmt::format("# shellcheck disable=SC2086  # PROCTOR_RUN_ARGS is words\nexec {} run \\\n", name);
  for (const auto& option : options) text += fmt::format("  {} \\\n", option);
  return text + fmt::format("  ${{PROCTOR_RUN_ARGS:-}} \"$image\" {}/bin/proctor \"$@\"\n", kProctorInImage);
}

}  // namespace

std::string render_docker_script(const StackLock& lock) { return script(lock, Engine::kDocker); }
std::string render_podman_script(const StackLock& lock) { return script(lock, Engine::kPodman); }

std::string render_job_container(const StackLock& lock) {
  const RunPlaces places{.profile = kInstalledProfile,
                         .gpus = kAllGpus,
                         .group = "${{ vars.RENDER_GROUP }}",
                         .leases = kLeasesInImage,
                         .cache = {}};  // which shard writes it, the options cannot say
  std::string text =
      generated_note(lock) + host_note(lock) +
      fmt::format(
          "# For a job of GitHub Actions. Its steps run in the container by docker exec, which forwards no\n"
          "# signals: end them with `proctor finish` in a step with if: always(). The machine has Proctor "
          "in\n"
          "# {}, as docs/github.md sets it up.\n"
          "container:\n  image: ${{{{ inputs.image }}}}\n  options: >-\n",
          kProctorInImage);
  std::vector<std::string> options = confinement(lock, places.profile);
  append(options, devices(lock, Engine::kDocker, places));
  append(options, shared_directories(lock, places));
  for (const auto& option : options) text += "    " + option + "\n";
  return text;
}

}  // namespace proctor
