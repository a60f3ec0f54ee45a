// Files for what starts containers on its own account: compose, Kubernetes, a job container, and docker buildx bake, which
// builds them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "harness/core/container_marks.h"
#include "harness/stack/render.h"
#include "harness/stack/render_words.h"
#include "harness/stack/run_line.h"

namespace proctor {
namespace {

// Installed there on the host (docs/how-to/github.md): a job container starts before anything is checked out.
constexpr const char* kInstalledProfile = "/opt/proctor/share/proctor/seccomp.json";

std::string compose_devices(const StackLock& lock) {
  if (is_cuda(lock)) {
    return "    deploy:\n      resources:\n        reservations:\n          devices:\n"
           "            - driver: nvidia\n              count: all\n              capabilities: [gpu]\n";
  }
  if (is_xpu(lock)) {
    return fmt::format(
        "    devices:\n      - /dev/dri\n"
        "    group_add:\n      - ${{RENDER_GROUP:?stat -c %g {} prints it}}\n",
        kRenderNode);
  }
  return {};
}

std::string compose_volumes(const StackLock& lock) {
  std::string text = "    volumes:\n";
  if (is_xpu(lock)) text += "      - /dev/dri/by-path:/dev/dri/by-path:ro\n";
  text += fmt::format("      - {0}:{0}\n", kLeasesInImage);
  if (has_cache(lock)) text += fmt::format("      - cache:{}\n", kCacheInImage);
  return text +
         fmt::format("      - ${{PROCTOR:?}}:{}:ro\n      - ${{OUT:?}}:{}\n", kProctorInImage, kOutInImage);
}

// What a cluster calls the devices: NVIDIA's and Intel's device plugins.
std::string device_limit(const StackLock& lock) {
  if (is_cuda(lock)) return "nvidia.com/gpu";
  return is_xpu(lock) ? "gpu.intel.com/${INTEL_DRIVER}" : "";
}

struct Mount {
  const char* name;
  const char* place;
  std::string volume;
  bool read_only = false;
};

std::vector<Mount> kubernetes_mounts(const StackLock& lock) {
  std::string shm = lock.shm_size;  // "8g" is "8Gi" there
  shm.back() = static_cast<char>(shm.back() - 'a' + 'A');
  std::vector<Mount> mounts = {
      {"shm", "/dev/shm", fmt::format("emptyDir: {{medium: Memory, sizeLimit: {}i}}", shm)},
      {"leases", kLeasesInImage, fmt::format("hostPath: {{path: {}, type: Directory}}", kLeasesInImage)},
      {"proctor", kProctorInImage, "hostPath: {path: \"${PROCTOR}\", type: Directory}", true},
      {"out", kOutInImage, "hostPath: {path: \"${OUT}\", type: Directory}"}};
  if (is_xpu(lock))
    mounts.push_back(
        {"by-path", "/dev/dri/by-path", "hostPath: {path: /dev/dri/by-path, type: Directory}", true});
  if (has_cache(lock)) mounts.push_back({"cache", kCacheInImage, "emptyDir: {}"});
  return mounts;
}

std::string pod_security(const StackLock& lock) {
  std::string text = fmt::format(
      "      securityContext:\n"
      "        runAsNonRoot: true\n"
      "        runAsUser: {0}\n"
      "        runAsGroup: {0}\n"
      "        fsGroup: {0}\n",
      kImageUser);
  if (is_xpu(lock)) text += "        supplementalGroups:\n          - ${RENDER_GROUP}\n";
  return text +
         "        seccompProfile:\n"
         "          type: Localhost\n"
         "          localhostProfile: proctor/seccomp.json\n";
}

std::string kubernetes_container(const StackLock& lock) {
  std::string text = fmt::format(
      "      containers:\n"
      "        - name: proctor\n"
      "          image: \"${{IMAGE}}\"\n"
      "          command: [{}/bin/proctor]\n"
      "          args: [run, --out, {}/run]\n"
      "          env:\n"
      "            - {{name: {}, value: {}}}\n"
      "          securityContext:\n"
      "            allowPrivilegeEscalation: false\n"
      "            capabilities:\n"
      "              drop: [ALL]\n",
      kProctorInImage, kOutInImage, kLeasesVariable, kLeasesOfHost);
  if (const std::string device = device_limit(lock); !device.empty())
    text +=
        fmt::format("          resources:\n            limits:\n              {}: ${{DEVICES}}\n", device);
  text += "          volumeMounts:\n";
  for (const Mount& mount : kubernetes_mounts(lock)) {
    text += fmt::format("            - {{name: {}, mountPath: {}{}}}\n", mount.name, mount.place,
                        mount.read_only ? ", readOnly: true" : "");
  }
  return text;
}

// What bake allows in a target's name. No stack's name has an underscore, so no two become one.
std::string bake_name(std::string image) {
  std::ranges::replace(image, '.', '_');
  return image;
}

// Images that differ only by their flavour's base are targets of their own, and all are built by default.
std::string bake_target(const StackLock& lock, const StackLock& flavour, bool first) {
  const std::string name = image_name(lock, flavour);
  return fmt::format(
      "target \"{5}\" {{\n"
      "  context    = \"{1}\"\n"
      "  dockerfile = \"{2}\"\n"
      "  tags       = [\"${{REGISTRY}}{0}\", \"${{REGISTRY}}{0}:{3}\"]\n"
      "  labels     = {{\n"
      "    \"org.opencontainers.image.source\"   = SOURCE\n"
      "    \"org.opencontainers.image.revision\" = REVISION != \"\" ? REVISION : \"sha256:{4}\"\n"
      "  }}\n"
      "}}\n",
      name, lock.name, first ? "Dockerfile" : "Dockerfile." + flavour.base.flavour, lock.digest.substr(0, 12),
      lock.digest, bake_name(name));
}

}  // namespace

std::string render_compose(const StackLock& lock) {
  std::string text = generated_note(lock) + host_note(lock);
  text +=
      fmt::format("# Copied elsewhere, it needs the {} of the directory above there, too.\n", kProfileName);
  text += "services:\n  proctor:\n    image: ${IMAGE:?}\n";
  text += fmt::format(
      "    init: true\n    ipc: private\n    shm_size: {}\n    pids_limit: {}\n    ulimits:\n      core: 0\n"
      "    cap_drop:\n      - ALL\n    security_opt:\n      - no-new-privileges:true\n"
      "      - seccomp:../{}\n",
      lock.shm_size, kPidsLimit, kProfileName);
  text += compose_devices(lock);
  text += "    environment:\n";
  for (const auto& name : lock.environment) text += fmt::format("      - \"{}\"\n", name);
  text += fmt::format("      - {}={}\n", kLeasesVariable, kLeasesOfHost);
  text += compose_volumes(lock);
  text += fmt::format("    entrypoint: [{}/bin/proctor]\n", kProctorInImage);
  if (has_cache(lock))
    text +=
        fmt::format("volumes:\n  cache:\n    name: ${{CACHE:-proctor-{}-all-${{SHARD:-1}}}}\n", lock.name);
  return text;
}

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
          "# {}, as docs/how-to/github.md sets it up.\n"
          "container:\n  image: ${{{{ inputs.image }}}}\n  options: >-\n",
          kProctorInImage);
  for (const auto& options : {confinement(lock, places.profile), devices(lock, Engine::kDocker, places),
                              shared_directories(lock, places)}) {
    for (const auto& option : options) text += "    " + option + "\n";
  }
  return text;
}

std::string render_kubernetes_job(const StackLock& lock) {
  std::string text = generated_note(lock) + host_note(lock) +
                     fmt::format(
                         "# envsubst <job.yaml | kubectl create --filename -\n"
                         "# IMAGE: by its digest; PROCTOR: where Proctor is installed on the nodes; OUT: a "
                         "directory there, writable\n"
                         "# for user {}.",
                         kImageUser);
  if (has_cache(lock)) text += " DEVICES: how many.";
  if (is_xpu(lock))
    text += " INTEL_DRIVER: xe or i915. RENDER_GROUP: stat -c %g " + std::string(kRenderNode) + ".";
  text += fmt::format(
      "\n# The nodes have Proctor's share/proctor/seccomp.json as "
      "/var/lib/kubelet/seccomp/proctor/seccomp.json.\n"
      "apiVersion: batch/v1\n"
      "kind: Job\n"
      "metadata:\n"
      "  generateName: proctor-{0}-\n"
      "  labels: {{dev.proctor.stack: \"{0}\"}}\n"
      "spec:\n"
      "  backoffLimit: 0  # a red run is red; Proctor itself repeats what may be repeated\n"
      "  template:\n"
      "    metadata:\n"
      "      labels: {{dev.proctor.stack: \"{0}\"}}\n"
      "    spec:\n"
      "      restartPolicy: Never\n"
      "      automountServiceAccountToken: false\n",
      lock.name);
  text += pod_security(lock) + kubernetes_container(lock) + "      volumes:\n";
  for (const Mount& mount : kubernetes_mounts(lock))
    text += fmt::format("        - {{name: {}, {}}}\n", mount.name, mount.volume);
  return text;
}

Result<RenderedFile> render_bake(const std::vector<StackLock>& locks) {
  std::map<std::string, std::string> stack_of;  // the image's name -> who makes it
  std::vector<std::string> names;
  std::string targets;
  for (const auto& lock : locks) {
    bool first = true;
    for (const auto& flavour : lock.flavours()) {
      const std::string image = image_name(lock, flavour);
      const auto [other, is_new] = stack_of.emplace(image, lock.name);
      if (!is_new) {
        return Error::usage(fmt::format("render docker-bake.hcl: the stacks {} and {} both make the image {}",
                                        other->second, lock.name, image),
                            "Give one of them another name.");
      }
      names.push_back(fmt::format("\"{}\"", bake_name(image)));
      targets += "\n" + bake_target(lock, flavour, first);
      first = false;
    }
  }
  return RenderedFile{
      "docker-bake.hcl",
      fmt::format("# Generated by `proctor stack render` from stacks/*.toml: change those files.\n"
                  "# docker buildx bake --file docker-bake.hcl [TARGET...]     in this directory\n"
                  "variable \"REGISTRY\" {{\n  default = \"\"  # \"ghcr.io/me/\"\n}}\n"
                  "variable \"SOURCE\" {{\n  default = \"unknown\"  # the repository's address\n}}\n"
                  "variable \"REVISION\" {{\n  default = \"\"  # git rev-parse HEAD\n}}\n\n"
                  "group \"default\" {{\n  targets = [{}]\n}}\n{}",
                  fmt::join(names, ", "), targets)};
}

}  // namespace proctor
