#include "harness/stack/engine_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/core/text.h"
#include "harness/stack/render.h"

namespace proctor {
namespace {

using Words = std::vector<std::string>;

void add(Words& all, const Words& more) { all.insert(all.end(), more.begin(), more.end()); }

std::string quoted(const Words& words, const char* between) {
  Words shown;
  for (const std::string& word : words) shown.push_back(shell_quote(word));
  return fmt::format("{}", fmt::join(shown, between));
}

// What proctor's own name means inside.
Words inside(Words command) {
  if (!command.empty() && command.front() == "proctor")
    command.front() = fmt::format("{}/bin/proctor", kProctorInImage);
  return command;
}

Words directories(const StackContainer& container) {
  Words all = shared_directories(container.lock, container.places);
  add(all, {fmt::format("--volume={}:{}:ro", container.proctor, kProctorInImage),
            fmt::format("--volume={}:{}", container.out, kOutInImage)});
  if (!container.image_digest.empty()) all.push_back("--env=PROCTOR_IMAGE_DIGEST=" + container.image_digest);
  return all;
}

// An image without a digest is one that was built here: nobody's image of that name is fetched.
const char* fetched(const StackContainer& container) {
  return is_by_digest(container.image) ? "--pull=missing" : "--pull=never";
}

Words of_docker(const StackContainer& container) {
  Words words = {std::string(to_string(container.engine)), "run", "--rm", fetched(container)};
  add(words, confinement(container.lock, container.places.profile));
  add(words, devices(container.lock, container.engine, container.places));
  words.push_back("--label=dev.proctor.stack=" + container.lock.name);
  add(words, directories(container));
  add(words, container.options);
  return words;
}

// A shell hears no signal while it waits for a program before it, so buildah runs behind it: what the shell is sent,
// buildah gets as TERM, upon which it kills the container. Behind it buildah would read nothing (POSIX), so its stdin is
// handed over by 3.
constexpr const char* kBuildahScript =
    "set -eu\n"
    "container=\n"
    "ended() {{\n"
    "  trap '' HUP INT TERM\n"
    "  pid=${{!:-}}\n"
    "  [ -z \"$pid\" ] || {{ kill -TERM \"$pid\" 2>/dev/null || :; wait \"$pid\" || :; }}\n"
    "  exit \"$1\"\n"
    "}}\n"
    "trap '[ -z \"$container\" ] || buildah rm \"$container\" >/dev/null' EXIT\n"
    "trap 'ended 129' HUP\n"
    "trap 'ended 130' INT\n"
    "trap 'ended 143' TERM\n"
    "exec 3<&0\n"
    "container=$(buildah from{0}{1})\n"
    "buildah run{0}{2}{0}\"$container\" -- {3} <&3 3<&- &\n"
    "wait \"$!\"\n";

// buildah has no init process (Proctor reaps by itself), no limit of processes and no no-new-privileges; the group of
// the render nodes is the user's only one.
std::string of_buildah(const StackContainer& container, const Words& command, const char* between) {
  const StackLock& lock = container.lock;
  Words from = {"--cap-drop=ALL", "--security-opt=seccomp=" + container.places.profile,
                "--shm-size=" + lock.shm_size, "--ulimit=core=0"};
  if (!is_by_digest(container.image)) from.insert(from.begin(), "--pull-never");
  Words run = {"--isolation=oci",
               fmt::format("--user={}:{}", kImageUser,
                           is_xpu(lock) ? container.places.group : std::to_string(kImageUser))};
  for (const std::string& option : devices(lock, container.engine, container.places)) {
    if (option.starts_with("--group-add=")) continue;
    (option.starts_with("--device=") ? from : run).push_back(option);
  }
  add(run, directories(container));
  add(run, container.options);
  from.push_back(container.image);
  return fmt::format(kBuildahScript, between, quoted(from, between), quoted(run, between),
                     quoted(command, " "));
}

}  // namespace

bool is_by_digest(const std::string& image) { return image.find("@sha256:") != std::string::npos; }

std::vector<std::string> engine_command(const StackContainer& container) {
  const Words command = inside(container.command);
  if (container.engine == Engine::kBuildah) return {"sh", "-c", of_buildah(container, command, " ")};
  Words words = of_docker(container);
  words.push_back(container.image);
  add(words, command);
  return words;
}

std::string engine_line(const StackContainer& container) {
  constexpr const char* kNextLine = " \\\n  ";
  const Words command = inside(container.command);
  if (container.engine == Engine::kBuildah) return of_buildah(container, command, kNextLine);
  Words words = of_docker(container);
  const std::string start = fmt::format("{} run", words.front());
  words.erase(words.begin(), words.begin() + 2);
  return fmt::format("{}{}{}{}{} {}\n", start, kNextLine, quoted(words, kNextLine), kNextLine,
                     shell_quote(container.image), quoted(command, " "));
}

}  // namespace proctor
