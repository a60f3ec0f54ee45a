// proctor stack run: starts a command in a container of a stack, or prints the line that does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "harness/cli/stack.h"
#include "harness/core/argv.h"
#include "harness/core/child_process.h"
#include "harness/core/exit_code.h"
#include "harness/core/outside_program.h"
#include "harness/core/read_file.h"
#include "harness/core/text.h"
#include "harness/core/user_name.h"
#include "harness/core/version.h"
#include "harness/core/words.h"
#include "harness/devices/leases/lease.h"
#include "harness/machine/installation.h"
#include "harness/stack/engine_command.h"
#include "harness/stack/engine_options.h"
#include "harness/stack/lock_format.h"
#include "harness/stack/mount_rules.h"
#include "harness/stack/render.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLabel = "dev.proctor.stack.lock";

struct RunRequest {
  std::string stack;
  std::string directory;
  std::string engine;  // "": the first that is installed
  std::string image;
  std::string flavour;
  std::string out;
  std::string state_dir;
  std::vector<std::string> options;
  bool print = false;
};

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// ---- the engine ----

struct EngineFacts {
  Engine engine;
  const char* oldest;  // that is known to start these lines
  const char* package;
};
constexpr EngineFacts kEngines[] = {{Engine::kDocker, "20.10", "docker.io"},
                                    {Engine::kPodman, "4.1", "podman"},
                                    {Engine::kBuildah, "1.28", "buildah"}};

// "Docker version 28.2.2, build e6534b4", "podman version 4.3.1", "buildah version 1.28.2 (image-spec ...)"
std::optional<std::string> version_in(const std::string& said) {
  constexpr std::string_view kWord = "version ";
  const auto at = said.find(kWord);
  if (at == said.npos) return std::nullopt;
  const std::string_view rest = std::string_view(said).substr(at + kWord.size());
  std::string version(rest.substr(0, rest.find_first_not_of("0123456789.")));
  if (!Version::parse(version)) return std::nullopt;
  return version;
}

Result<void> check_version(const EngineFacts& facts) {
  const std::string name(to_string(facts.engine));
  const auto said = run_outside_program({.argv = {name, "--version"}, .package = facts.package});
  if (!said) return said.error();
  const auto version = version_in(said->output);
  if (said->exit_code != 0 || !version) {
    return Error::usage(fmt::format("ask {0} for its version: `{0} --version` prints `{1}`", name,
                                    clean_text(trimmed(said->output + said->errors).substr(0, 200))),
                        fmt::format("Is this {}? Name another one with --engine.", name));
  }
  if (compare(*Version::parse(*version), *Version::parse(facts.oldest)) < 0) {
    return Error::refused(fmt::format("{} {} is older than {}", name, *version, facts.oldest),
                          "Install a newer version, or select another engine with --engine.");
  }
  return {};
}

const EngineFacts* named_engine(const std::string& name) {
  for (const EngineFacts& facts : kEngines) {
    if (to_string(facts.engine) == name) return &facts;
  }
  return nullptr;
}

// A line can be printed where there is no engine.
Result<Engine> choose_engine(const RunRequest& request) {
  if (const EngineFacts* facts = named_engine(request.engine)) {
    if (request.print) return facts->engine;
    if (const auto good = check_version(*facts); !good) return good.error();
    return facts->engine;
  }
  for (const EngineFacts& facts : kEngines) {
    if (!find_program(std::string(to_string(facts.engine)))) continue;
    if (request.print) return facts.engine;
    if (const auto good = check_version(facts); !good) return good.error();
    return facts.engine;
  }
  if (request.print) return Engine::kDocker;
  return Error::refused(
      "There is no docker, podman or buildah in PATH",
      "Install one: sudo apt-get install podman. Use --print to print the command line only.");
}

// ---- the image ----

// Id and label of the lock, between them a blank.
std::vector<std::string> inspection(Engine engine, const std::string& image) {
  const std::string name(to_string(engine));
  const auto label = [](const char* id, const char* labels) {
    return fmt::format("{{{{{}}}}} {{{{index {} \"{}\"}}}}", id, labels, kLabel);
  };
  if (engine == Engine::kBuildah)
    return {name, "inspect", "--type", "image", "--format", label(".FromImageID", ".OCIv1.Config.Labels"),
            image};
  return {name, "image", "inspect", "--format", label(".Id", ".Config.Labels"), image};
}

// An image that is named by its digest is nobody else's, so it is fetched where it is not there.
Result<OutsideAnswer> inspected(Engine engine, const std::string& image) {
  auto said = run_outside_program({.argv = inspection(engine, image)});
  if (!said || said->exit_code == 0 || !is_by_digest(image)) return said;
  constexpr Milliseconds kLongestFetch{3'600'000};
  std::cerr << fmt::format("Fetching {}\n", clean_text(image));
  auto fetched =
      run_outside_program({.argv = {std::string(to_string(engine)), "pull", image}, .time = kLongestFetch});
  if (!fetched || fetched->exit_code != 0) return fetched;
  return run_outside_program({.argv = inspection(engine, image)});
}

std::string line_that_builds(Engine engine, const std::string& image, const StackLock& lock,
                             const RunRequest& request) {
  const fs::path directory = fs::path(request.directory.empty() ? "docker" : request.directory) / lock.name;
  const std::string file = request.flavour.empty() || request.flavour == lock.base.flavour
                               ? "Dockerfile"
                               : "Dockerfile." + request.flavour;
  if (is_by_digest(image))
    return "Use an image that was built from this lock. Otherwise build it in a checkout of Proctor and omit "
           "--image.";
  std::error_code none;
  return fmt::format("Build it{}: {} build --tag {} --file {} {}",
                     fs::exists(directory / file, none) ? "" : " in a checkout of Proctor", to_string(engine),
                     shell_quote(image), shell_quote((directory / file).string()),
                     shell_quote(directory.string()));
}

// Its digest; an error where it is not there, or was made from another lock.
Result<std::string> image_of_lock(Engine engine, const std::string& image, const StackLock& lock,
                                  const RunRequest& request) {
  const std::string name(to_string(engine));
  const auto said = inspected(engine, image);
  if (!said) return said.error();
  const std::string mend = line_that_builds(engine, image, lock, request);
  if (said->exit_code != 0) {
    return Error::usage(fmt::format("inspect the image {} with {}: {}", clean_text(image), name,
                                    clean_text(trimmed(said->errors + said->output).substr(0, 300))),
                        mend);
  }
  const auto words = split(trimmed(said->output), ' ');
  std::string id(words.front());
  if (!id.starts_with("sha256:")) id = "sha256:" + id;
  if (!is_image_digest(id) || words.size() < 2) {
    return Error::usage(
        fmt::format("inspect the image {}: {} printed `{}`, not a digest and a label", clean_text(image),
                    name, clean_text(trimmed(said->output).substr(0, 200))),
        mend);
  }
  if (words[1] != "sha256:" + lock.digest) {
    return Error::usage(
        fmt::format("start the image {}: {}, but the lock of {} is sha256:{}", clean_text(image),
                    words[1].starts_with("sha256:") ? "it was built from " + clean_text(words[1])
                                                    : std::string("it was built without a lock"),
                    lock.name, lock.digest),
        mend);
  }
  return id;
}

// ---- places on this machine ----

// In a volume's option a colon ends the path.
Result<std::string> mountable(const std::string& path, const char* what) {
  std::error_code none;
  const std::string absolute = fs::absolute(path, none).lexically_normal().string();
  if (absolute.find_first_of(":\n") != std::string::npos)
    return Error::refused(
        fmt::format("{} cannot be mounted as {}: its path contains a colon", clean_text(absolute), what),
        "Use a path without a colon.");
  return absolute;
}

// The same, and it gives the container nothing that control the host.
Result<std::string> shareable(const std::string& path, const char* what) {
  auto place = mountable(path, what);
  if (!place) return place;
  if (const auto why = why_no_source(*place))
    return Error::refused(fmt::format("{} cannot be mounted as {}: {}", clean_text(*place), what, *why));
  return place;
}

// The directory that has bin/proctor, and it is this program.
Result<std::string> installed_at() {
  if (const std::string named = from_environment("PROCTOR"); !named.empty()) {
    std::error_code none;
    if (!fs::exists(fs::path(named) / "bin/proctor", none))
      return Error::refused(fmt::format("PROCTOR={} has no bin/proctor", clean_text(named)));
    return shareable(named, "PROCTOR");
  }
  fs::path directory = program_directory();
  for (int up = 0; up < 3; ++up, directory = directory.parent_path()) {
    std::error_code none;
    if (fs::equivalent(directory / "bin/proctor", own_program(), none))
      return shareable(directory, "PROCTOR");
  }
  return Error::refused("The installation directory of Proctor is not known",
                        "Set PROCTOR to the directory that contains bin/proctor.");
}

Result<std::string> directory_for_reports(const RunRequest& request) {
  std::string out = request.out.empty() ? from_environment("OUT") : request.out;
  if (out.empty()) out = "proctor-out";
  const auto path = shareable(out, "OUT");
  if (!path || request.print) return path;
  std::error_code failed;
  if (fs::create_directories(*path, failed))
    ::chmod(path->c_str(), 01777);  // whoever the image's user is here
  struct stat info {};
  if (::stat(path->c_str(), &info) != 0) return Error::system("look at " + *path, errno);
  constexpr mode_t kOthersWrite = S_IWOTH | S_IXOTH;
  const bool good = S_ISDIR(info.st_mode) && (info.st_uid == static_cast<uid_t>(kImageUser) ||
                                              (info.st_mode & kOthersWrite) == kOthersWrite);
  if (!good) {
    return Error::refused(
        fmt::format("The image's user {} cannot write to {}", kImageUser, clean_text(*path)),
        fmt::format("install --directory --mode=1777 {}", shell_quote(*path)));
  }
  return path;
}

// In the container Proctor leases there only if it is root's and for everybody; else each container would lease on its
// own, and two could have one device.
Result<std::string> shared_leases(const RunRequest& request) {
  const auto path = mountable(request.state_dir.empty() ? LeaseDirectory::default_path() : request.state_dir,
                              "the directory of leases");
  if (!path) return path;
  std::error_code none;
  if (fs::equivalent(*path, "/dev/shm", none)) {
    return Error::usage(
        "share the leases in /dev/shm: the container would see the shared memory of every process",
        fmt::format("As root, run: install --directory --mode=1777 {}. Otherwise select a directory with "
                    "--state-dir for each run on this machine.",
                    kLeasesInImage));
  }
  struct stat info {};
  if (::stat(path->c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || !is_roots(info.st_uid) ||
      (info.st_mode & 01777) != 01777) {
    return Error::usage(fmt::format("share the leases in {}: it is not a directory owned by root with mode "
                                    "1777, so two runs could lease the same device",
                                    clean_text(*path)),
                        fmt::format("As root, run: install --directory --mode=1777 {}", shell_quote(*path)));
  }
  return path;
}

Result<std::string> profile_file() {
  const std::string path = shared_file(kProfileName);
  const auto text = read_file(path);
  if (!text || *text != seccomp_profile()) {
    return Error::usage(path.empty()
                            ? "find share/proctor/seccomp.json in the installation of Proctor"
                            : fmt::format("use {}: it is not the profile of this Proctor version", path),
                        "Install Proctor completely.");
  }
  return mountable(path, "the profile");
}

Result<std::string> render_group(Engine engine, bool print) {
  if (engine == Engine::kPodman && ::geteuid() != 0) return std::string("keep-groups");
  struct stat info {};
  if (::stat(kRenderNode, &info) == 0) return std::to_string(info.st_gid);
  if (print) return fmt::format("GROUP_OF_{}", kRenderNode);
  return Error::refused(fmt::format("There is no render node {}", kRenderNode),
                        "Run `proctor doctor` to see what Intel's cards need.");
}

Result<std::string> cache_of(const StackLock& lock, Engine engine) {
  if (const std::string named = from_environment("CACHE"); !named.empty()) {
    return is_plain_name(named) && engine != Engine::kBuildah ? named : shareable(named, "CACHE");
  }
  if (engine == Engine::kBuildah) return std::string();  // it has no volumes
  const std::string mask = mask_variable(lock);
  return cache_volume(lock, mask.empty() ? "" : from_environment(mask.c_str()), from_environment("SHARD"));
}

Result<RunPlaces> places_of(const RunRequest& request, const StackLock& lock, Engine engine) {
  RunPlaces places;
  const auto profile = profile_file();
  if (!profile) return profile.error();
  const auto leases = shared_leases(request);
  if (!leases) return leases.error();
  places.profile = *profile;
  places.leases = *leases;
  const auto cache = cache_of(lock, engine);
  if (!cache) return cache.error();
  places.cache = *cache;
  if (is_xpu(lock)) {
    const auto group = render_group(engine, request.print);
    if (!group) return group.error();
    places.group = *group;
  }
  if (is_cuda(lock)) {
    places.gpus = from_environment("GPUS").empty() ? kAllGpus : from_environment("GPUS");
    if (places.gpus != kAllGpus && places.gpus != kAllGpusByCdi)
      return Error::refused(
          fmt::format("GPUS must be {} or {} (got {})", kAllGpus, kAllGpusByCdi, clean_text(places.gpus)));
  }
  return places;
}

// ---- all of it ----

Result<StackLock> wanted_flavour(const RunRequest& request, const StackLock& lock) {
  std::vector<std::string> known;
  for (const StackLock& flavour : lock.flavours()) {
    if (request.flavour.empty() || flavour.base.flavour == request.flavour) return flavour;
    if (!flavour.base.flavour.empty()) known.push_back(flavour.base.flavour);
  }
  return Error::refused(fmt::format("{} has no flavour `{}`", lock.name, clean_text(request.flavour)),
                        known.empty() ? "It has none." : fmt::format("It has: {}.", fmt::join(known, ", ")));
}

Result<StackContainer> container_of(const RunRequest& request, const std::vector<std::string>& command) {
  const std::string locks = lock_directory(request.directory);
  const auto lock = find_lock(locks, request.stack);
  if (!lock) return lock.error();
  const auto flavour = wanted_flavour(request, *lock);
  if (!flavour) return flavour.error();
  const auto engine = choose_engine(request);
  if (!engine) return engine.error();
  std::vector<std::string> more = request.options;
  const std::string arguments = from_environment("PROCTOR_RUN_ARGS");
  for (const std::string_view word : split(arguments, ' ')) {
    if (!word.empty()) more.emplace_back(word);
  }
  const auto options = read_engine_options(*engine, more);
  if (!options) return options.error();
  const auto places = places_of(request, *lock, *engine);
  if (!places) return places.error();
  const auto proctor = installed_at();
  if (!proctor) return proctor.error();
  const auto out = directory_for_reports(request);
  if (!out) return out.error();
  StackContainer container{.lock = *lock,
                           .engine = *engine,
                           .places = *places,
                           .image = request.image.empty() ? image_name(*lock, *flavour) : request.image,
                           .image_digest = {},
                           .proctor = *proctor,
                           .out = *out,
                           .options = *options,
                           .command = command};
  if (container.image.starts_with('-'))
    return Error::refused(fmt::format("`{}` is an option, not an image", clean_text(container.image)));
  if (request.print) return container;
  const auto digest = image_of_lock(*engine, container.image, *lock, request);
  if (!digest) return digest.error();
  container.image_digest = *digest;
  return container;
}

// This process becomes the engine's: what it is sent, and what it says at its end, are the engine's.
int become(const std::vector<std::string>& words) {
  const auto program = find_program(words.front());
  if (!program) return fail_stack(program.error());
  std::cout.flush();
  ::execv(program->c_str(), argv_of(words).data());
  return fail_stack(Error::system("start " + *program, errno));
}

int run(const RunRequest& request, const AfterDashes& command) {
  if (!command || command->empty()) {
    return fail_stack(Error::refused("`proctor stack run` needs a command",
                                     "Write it after `--`: proctor stack run NAME -- proctor doctor"));
  }
  const auto container = container_of(request, *command);
  if (!container) return fail_stack(container.error());
  if (request.print) {
    std::cout << engine_line(*container);
    return kExitGreen;
  }
  return become(engine_command(*container));
}

}  // namespace

void add_stack_run(CLI::App& stack, Action& action, const AfterDashes& after_dashes) {
  CLI::App* command = stack.add_subcommand("run", "Run the command after `--` in a container of a stack");
  const auto request = std::make_shared<RunRequest>();
  command->add_option("NAME", request->stack, "Name of the stack")->type_name("NAME")->required();
  command
      ->add_option("--engine", request->engine,
                   "Container engine: docker, podman or buildah (default: the first that is installed)")
      ->type_name("ENGINE")
      ->check(one_of({"docker", "podman", "buildah"}));
  command->add_option("--image", request->image, "Image, built on this machine (default: proctor-NAME)")
      ->type_name("IMAGE");
  command->add_option("--flavour", request->flavour, "Flavour of the image (default: the first of the lock)")
      ->type_name("NAME");
  command->add_option("--out", request->out, "Directory to mount as /out (default: $OUT, else proctor-out)")
      ->type_name("DIR");
  command
      ->add_option("--option", request->options,
                   "Option for the engine, for example --option=--env-file=FILE; repeatable")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  command->add_option("--state-dir", request->state_dir, "Directory of the host's leases")->type_name("DIR");
  command
      ->add_option("--dir", request->directory,
                   "Directory of stacks/ (default: docker, else the built-in stacks)")
      ->type_name("DIR");
  command->add_flag("--print", request->print, "Print the command line and start nothing");
  command->callback([request, &after_dashes, &action] {
    action = [request, &after_dashes] { return run(*request, after_dashes); };
  });
}

}  // namespace proctor::cli
