#include "harness/stack/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "harness/base/json.h"
#include "harness/base/rooted_files.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kPackageDatabase = "/var/lib/dpkg/status";

// A layer of the driver stack, and the names of its packages in the distribution channels. A name that ends in "-" is a
// prefix.
struct PackagedLayer {
  const char* fact;
  std::vector<const char*> packages;
  // If none of the packages is installed, the layer may come with `carrier`, a package of another layer. In that case,
  // `file` is in the carrier's list of files.
  const char* carrier = nullptr;
  const char* file = nullptr;
};

const std::vector<PackagedLayer>& packaged_layers() {
  static const std::vector<PackagedLayer> kLayers = {
      {"umd.level_zero",
       {"libze-intel-gpu1", "intel-level-zero-gpu"},
       "intel-opencl-icd",
       "/libze_intel_gpu.so."},
      {"umd.opencl", {"intel-opencl-icd"}},
      {"umd.igc", {"intel-igc-core-2", "libigc2", "intel-igc-core", "libigc1"}},
      {"umd.gmmlib", {"libigdgmm12", "libigdgmm11"}},
      {"umd.cuda_compat", {"cuda-compat-"}},
      {"loader.level_zero", {"libze1", "level-zero"}},
      {"library.nccl", {"libnccl2"}},
      {"library.oneccl", {"intel-oneapi-ccl-"}},
      {"glue.toolkit", {"nvidia-container-toolkit"}},
  };
  return kLayers;
}

// Returns the text after `field` on the first line that begins with it, without quotes.
std::optional<std::string> field_of(const std::string& text, std::string_view field) {
  for (const std::string_view line : lines_of(text)) {
    const std::string_view bare = trimmed(line);
    if (!bare.starts_with(field)) continue;
    std::string_view value = trimmed(bare.substr(field.size()));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return std::nullopt;
}

// Returns the first version-like word (digits and dots) after `mark`.
std::optional<std::string> version_after(std::string_view text, std::string_view mark) {
  const auto found = text.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  const auto begin = text.find_first_of("0123456789", found + mark.size());
  if (begin == std::string_view::npos) return std::nullopt;
  const auto end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
  return std::string(text.substr(begin, end - begin));
}

// Returns the driver version in a CDI specification. Its hooks also contain links such as libcuda.so.1, so the version
// must contain a dot.
std::optional<std::string> driver_of_cdi(std::string_view text) {
  constexpr std::string_view kFile = "libcuda.so.";
  for (auto at = text.find(kFile); at != std::string_view::npos; at = text.find(kFile, at + 1)) {
    const auto version = version_after(text.substr(at), kFile);
    if (version && version->find('.') != std::string::npos) return version;
  }
  return std::nullopt;
}

class Capture {
 public:
  explicit Capture(const std::string& root) : files_(root) {}

  void host();
  void nvidia_driver();
  void intel_driver(const std::string& module);
  void nvidia_firmware();
  void intel_firmware(const char* fact, const char* file);
  void packages();
  bool has_file(const std::string& package, std::string_view part_of_name);
  void libcuda();
  void cuda_toolkit();
  void container_glue();
  void image(const std::optional<std::string>& digest);

  Fingerprint take() { return std::move(facts_); }

 private:
  void known(const std::string& name, std::string value, const std::string& source) {
    facts_.push_back({name, clean_text(value), source, {}, false});
  }
  void unknown(const std::string& name, const std::string& source, const std::string& reason) {
    facts_.push_back({name, std::nullopt, source, reason, false});
  }
  void absent(const std::string& name, const std::string& source, const std::string& reason) {
    facts_.push_back({name, std::nullopt, source, reason, true});
  }
  // Returns the file's text. If there is none, it records the fact as unknown, or as absent if the file does not exist.
  std::optional<std::string> read(const std::string& name, const std::string& path,
                                  const std::string& if_absent);

  RootedFiles files_;
  Fingerprint facts_;
};

std::optional<std::string> Capture::read(const std::string& name, const std::string& path,
                                         const std::string& if_absent) {
  const auto text = files_.contents(path);
  if (text) return *text;
  if (text.error().sys_errno == ENOENT) {
    absent(name, path, if_absent);
  } else {
    unknown(name, path, "failed to " + text.error().what);
  }
  return std::nullopt;
}

void Capture::host() {
  if (const auto text = read("host.os", "/etc/os-release", "no such file")) {
    known("host.os", field_of(*text, "PRETTY_NAME=").value_or("without a name"), "/etc/os-release");
  }
  const char* kernel = "/proc/sys/kernel/osrelease";
  if (const auto text = read("host.kernel", kernel, "no such file"))
    known("host.kernel", std::string(trimmed(*text)), kernel);
}

void Capture::nvidia_driver() {
  const char* version = "/sys/module/nvidia/version";
  if (const auto text = read("kmd.nvidia", version, "the module nvidia is not loaded")) {
    known("kmd.nvidia", std::string(trimmed(*text)), version);
  }
  const char* words = "/proc/driver/nvidia/version";
  if (const auto text = read("kmd.nvidia.flavour", words, "the module nvidia is not loaded")) {
    const bool open = text->find("Open Kernel Module") != std::string::npos;
    known("kmd.nvidia.flavour", open ? "open" : "closed", words);
  }
}

// A driver of the kernel tree has only the kernel's version. The digest of its source shows whether it was replaced.
void Capture::intel_driver(const std::string& module) {
  const std::string directory = "/sys/module/" + module;
  if (!files_.exists(directory)) {
    return absent("kmd." + module, directory, "the module " + module + " is not loaded");
  }
  const auto source = files_.read(directory + "/srcversion");
  known("kmd." + module,
        files_.read(directory + "/version").value_or("of the kernel") + (source ? ", source " + *source : ""),
        directory);
}

void Capture::nvidia_firmware() {
  const std::string directory = "/proc/driver/nvidia/gpus";
  struct Field {
    const char* fact;
    const char* text;
  };
  for (const auto& [fact, field] :
       {Field{"firmware.vbios", "Video BIOS:"}, Field{"firmware.gsp", "GPU Firmware:"}}) {
    Lines found;
    for (const auto& gpu : files_.names(directory)) {
      const auto text = files_.contents(fmt::format("{}/{}/information", directory, gpu));
      const auto value = text ? field_of(*text, field) : std::nullopt;
      if (value) found.push_back(fmt::format("{} {}", gpu, *value));
    }
    if (found.empty()) {
      unknown(fact, directory, "no NVIDIA device reports it");
    } else {
      known(fact, fmt::format("{}", fmt::join(found, ", ")), directory);
    }
  }
}

// The driver xe has gt0, gt1 ... per card, i915 has one gt.
void Capture::intel_firmware(const char* fact, const char* file) {
  const std::string directory = "/sys/kernel/debug/dri";
  Lines found;
  for (const auto& card : files_.names(directory)) {
    for (const char* tile : {"gt", "gt0", "gt1"}) {
      const auto text = files_.contents(fmt::format("{}/{}/{}/uc/{}", directory, card, tile, file));
      const auto version = text ? version_after(*text, "found") : std::nullopt;
      if (version) found.push_back(fmt::format("{}/{} {}", card, tile, *version));
    }
  }
  if (found.empty()) {
    unknown(fact, directory, "no Intel device reports it there; only root can read it");
  } else {
    known(fact, fmt::format("{}", fmt::join(found, ", ")), directory);
  }
}

bool is_named_by(const std::string_view name, std::string_view package) {
  return name.ends_with('-') ? package.starts_with(name) : package == name;
}

void Capture::packages() {
  const auto status = files_.contents(kPackageDatabase);
  const auto installed = status ? installed_packages(*status) : std::map<std::string, std::string>();
  for (const PackagedLayer& layer : packaged_layers()) {
    const auto& [fact, names, carrier, file] = layer;
    Lines found;
    for (const std::string name : names) {
      for (auto at = installed.lower_bound(name); at != installed.end() && is_named_by(name, at->first); ++at)
        found.push_back(at->first + " " + at->second);
    }
    if (const auto other = carrier ? installed.find(carrier) : installed.end();
        found.empty() && other != installed.end() && has_file(carrier, file))
      found.push_back(other->first + " " + other->second);
    if (!found.empty()) {
      known(fact, fmt::format("{}", fmt::join(found, ", ")), kPackageDatabase);
    } else if (status) {
      absent(fact, kPackageDatabase, fmt::format("not installed: {}", fmt::join(names, ", ")));
    } else {
      unknown(fact, kPackageDatabase, "no database of Debian packages: failed to " + status.error().what);
    }
  }
}

bool Capture::has_file(const std::string& package, std::string_view part_of_name) {
  const auto list = files_.contents("/var/lib/dpkg/info/" + package + ".list");
  return list && list->find(part_of_name) != std::string::npos;
}

// The driver's library comes from the host and does not belong to a package of this image. Its file name contains the
// version.
void Capture::libcuda() {
  for (const char* directory :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    const std::string link = directory + std::string("/libcuda.so.1");
    const auto target = files_.resolve(link);
    if (!target) continue;
    const std::string name = target->substr(target->rfind('/') + 1);
    const auto version = version_after(name, "libcuda.so.");
    if (version && version->find('.') != std::string::npos) return known("umd.libcuda", *version, link);
    return unknown("umd.libcuda", link, fmt::format("the file name {} contains no version", name));
  }
  absent("umd.libcuda", "libcuda.so.1", "not in the directories of the system");
}

void Capture::cuda_toolkit() {
  const char* path = "/usr/local/cuda/version.json";
  const auto text = read("toolkit.cuda", path, "no CUDA toolkit in /usr/local/cuda");
  if (!text) return;
  const auto json = parse_json(*text);
  const auto version = json.is_object() ? json.find("cuda") : json.end();
  if (version != json.end() && version->is_object() && version->contains("version") &&
      (*version)["version"].is_string()) {
    return known("toolkit.cuda", (*version)["version"].get<std::string>(), path);
  }
  unknown("toolkit.cuda", path, "it does not contain cuda.version");
}

void Capture::container_glue() {
  const char* path = "/etc/nvidia-container-runtime/config.toml";
  if (const auto text = read("glue.mode", path, "no such file: no NVIDIA container toolkit here")) {
    const auto config = parse_toml(*text, path);
    const auto mode =
        config ? (*config)["nvidia-container-runtime"]["mode"].value<std::string>() : std::nullopt;
    if (mode) {
      known("glue.mode", *mode, path);
    } else {
      unknown("glue.mode", path, "it does not contain nvidia-container-runtime.mode");
    }
  }
  // A specification that was generated for another driver contains that driver's file names.
  for (const char* cdi : {"/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"}) {
    const auto text = files_.contents(cdi);
    if (!text) continue;
    const auto version = driver_of_cdi(*text);
    return known("glue.cdi", version ? "for libcuda " + *version : "names no libcuda", cdi);
  }
  absent("glue.cdi", "/etc/cdi/nvidia.yaml, /var/run/cdi/nvidia.yaml", "no CDI specification");
}

void Capture::image(const std::optional<std::string>& digest) {
  const char* path = "/etc/proctor/stack";
  if (const auto text = read("image.stack", path, "not an image that `proctor stack render` describes")) {
    known("image.stack", field_of(*text, "stack ").value_or("without a name"), path);
    known("image.lock", field_of(*text, "lock ").value_or("without a digest"), path);
    if (const auto flavour = field_of(*text, "flavour ")) known("image.flavour", *flavour, path);
    if (const auto host = field_of(*text, "host ")) known("image.host", *host, path);
  } else {
    absent("image.lock", path, facts_.back().reason);
  }
  if (digest && !digest->empty()) {
    known("image.digest", *digest, "PROCTOR_IMAGE_DIGEST");
  } else {
    unknown("image.digest", "PROCTOR_IMAGE_DIGEST", "not set; an image does not contain its own digest");
  }
}

std::string text_of(const StackFact& fact) { return fact.value.value_or("unknown (" + fact.reason + ")"); }

}  // namespace

bool is_package_of_layer(std::string_view package) {
  return std::ranges::any_of(packaged_layers(), [&](const PackagedLayer& layer) {
    return std::ranges::any_of(layer.packages, [&](const char* name) { return is_named_by(name, package); });
  });
}

Fingerprint capture_stack(const std::string& root, const std::optional<std::string>& image_digest) {
  Capture capture(root);
  capture.host();
  capture.nvidia_driver();
  for (const char* module : {"xe", "i915"}) capture.intel_driver(module);
  capture.nvidia_firmware();
  capture.intel_firmware("firmware.guc", "guc_info");
  capture.intel_firmware("firmware.huc", "huc_info");
  capture.packages();
  capture.libcuda();
  capture.cuda_toolkit();
  capture.container_glue();
  capture.image(image_digest);
  return capture.take();
}

std::optional<std::string> image_digest_of_caller() {
  const char* digest = std::getenv("PROCTOR_IMAGE_DIGEST");
  return digest == nullptr ? std::nullopt : std::optional<std::string>(digest);
}

std::vector<std::string> changes(const Fingerprint& before, const Fingerprint& after) {
  std::vector<std::string> found;
  std::map<std::string, const StackFact*> then;
  for (const auto& fact : after) then[fact.name] = &fact;
  for (const auto& fact : before) {
    const auto now = then.find(fact.name);
    if (now == then.end() || now->second->value == fact.value) continue;
    found.push_back(fmt::format("{}: {}, then {}", fact.name, text_of(fact), text_of(*now->second)));
  }
  return found;
}

std::string to_json(const Fingerprint& fingerprint) {
  nlohmann::json array = nlohmann::json::array();
  for (const auto& fact : fingerprint) {
    nlohmann::json entry = {{"name", fact.name}, {"source", fact.source}, {"value", nullptr}};
    if (fact.value) entry["value"] = *fact.value;
    entry["reason"] = fact.value ? nlohmann::json() : nlohmann::json(fact.reason);
    array.push_back(std::move(entry));
  }
  return array.dump(2);
}

namespace {

struct Paragraph {
  std::string_view name;
  std::string_view version;
  std::string_view status;
};

// Stores the value of "Field: value" and returns true if the line has this field. The comparison of the first letter is
// for speed: the file has megabytes, and the first case waits for it.
bool take(std::string_view line, std::string_view field, std::string_view& value) {
  if (line.front() != field.front() || !line.starts_with(field)) return false;
  value = line.substr(field.size());
  return true;
}

// Calls `use` with each paragraph, in the order of the file.
template <typename Use>
void each_paragraph(std::string_view text, Use use) {
  Paragraph paragraph;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      use(paragraph);
      paragraph = {};
    } else if (!take(line, "Package: ", paragraph.name) && !take(line, "Version: ", paragraph.version)) {
      take(line, "Status: ", paragraph.status);
    }
  }
  use(paragraph);
}

}  // namespace

std::map<std::string, std::string> installed_packages(std::string_view status) {
  std::map<std::string, std::string> packages;
  each_paragraph(status, [&](const Paragraph& paragraph) {
    const bool installed = paragraph.status.ends_with(" installed");
    if (installed && !paragraph.name.empty())
      packages[std::string(paragraph.name)] = std::string(paragraph.version);
  });
  return packages;
}

std::map<std::string, std::set<std::string>> offered_packages(std::string_view index) {
  std::map<std::string, std::set<std::string>> packages;
  each_paragraph(index, [&](const Paragraph& paragraph) {
    if (!paragraph.name.empty()) packages[std::string(paragraph.name)].insert(std::string(paragraph.version));
  });
  return packages;
}

RunStack::RunStack(std::string root)
    : root_(std::move(root)), before_(capture_stack(root_, image_digest_of_caller())) {}

void RunStack::describe(RunPlanned& planned) const {
  planned.fingerprint = before_;
  for (const StackFact& fact : before_) {
    if (fact.value) planned.stack.emplace_back(fact.name, *fact.value);
  }
}

std::vector<Warning> RunStack::check_again() const {
  const auto changed = changes(before_, capture_stack(root_, image_digest_of_caller()));
  if (changed.empty()) return {};
  return {
      {WarningCode::kStackChanged,
       fmt::format("the driver stack changed during the run, so its results do not belong to one stack: {}",
                   fmt::join(changed, "; "))}};
}

}  // namespace proctor
