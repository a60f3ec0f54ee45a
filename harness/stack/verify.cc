#include "harness/stack/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "harness/base/digest.h"
#include "harness/base/toml_reader.h"
#include "harness/base/version.h"
#include "harness/base/words.h"
#include "harness/stack/fingerprint.h"
#include "harness/stack/lock.h"
#include "harness/stack/lock_format.h"
#include "harness/stack/outside_tools.h"

namespace proctor {
namespace {

const toml::table* find_entry(const toml::table& root, const LockEntry& entry) {
  if (const toml::table* only = root[entry.table].as_table()) return only;
  const toml::array* array = root[entry.table].as_array();
  const char* key = entry.table == "base" ? "flavour" : "name";
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (table != nullptr && (*table)[key].value<std::string>() == entry.name) return table;
  }
  return nullptr;
}

// The position for a new value in an entry: its last line, and the column of its equals signs.
struct KeyPosition {
  std::size_t last_line = 0;
  std::size_t column = 0;
};

KeyPosition position_of(const toml::table& table, const std::vector<std::string_view>& lines) {
  KeyPosition position;
  for (const auto& [key, value] : table) {
    const std::size_t line = key.source().begin.line;
    position.last_line = std::max<std::size_t>(position.last_line, value.source().end.line);
    position.column = std::max(position.column, lines[line - 1].find('='));
  }
  return position;
}

// All line numbers refer to the text before any edit.
struct Edit {
  std::size_t line = 0;  // 1..
  bool erase = false;
  std::string insert_after{};
};

Result<void> plan_edits(const toml::table& root, const std::vector<std::string_view>& lines,
                        const LockChange& change, std::vector<Edit>& edits) {
  const toml::table* table = find_entry(root, change.entry);
  if (table == nullptr)
    return Error::internal(
        fmt::format("find the entry {} {} in the lock", change.entry.table, change.entry.name));
  if (table->is_inline())
    return Error::usage(fmt::format("edit `{}` of the lock: it is an inline table", change.entry.table),
                        fmt::format("Write it as a table: [{}].", change.entry.table));
  if (change.verified) {
    for (const auto& [key, value] : *table) {
      if (key.str() == "unverified") edits.push_back({.line = key.source().begin.line, .erase = true});
    }
  }
  if (change.key.empty()) return {};
  if (table->contains(change.key))
    return Error::internal(fmt::format("fill {}: the lock has a value", change.key));
  const KeyPosition position = position_of(*table, lines);
  std::string key = change.key;
  key.resize(std::max(key.size() + 1, position.column), ' ');
  // The new value goes after the last value that stays.
  std::size_t line = position.last_line;
  while (line > 1 && change.verified && lines[line - 1].starts_with("unverified")) --line;
  edits.push_back({.line = line, .insert_after = fmt::format("{}= \"{}\"", key, change.value)});
  return {};
}

}  // namespace

Result<std::string> change_lock(std::string_view text, const std::string& file,
                                const std::vector<LockChange>& changes) {
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<Edit> edits;
  for (const auto& change : changes) {
    if (const auto planned = plan_edits(*root, lines, change, edits); !planned) return planned.error();
  }
  std::string changed;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool keep = true;
    std::string after;
    for (const auto& edit : edits) {
      if (edit.line != i + 1) continue;
      keep = keep && !edit.erase;
      if (!edit.insert_after.empty()) after += edit.insert_after + "\n";
    }
    if (keep) changed += std::string(lines[i]) + "\n";
    changed += after;
  }
  const auto lock = parse_stack_lock(changed, file);
  if (!lock) return lock.error();
  return changed;
}

namespace {

class Comparing {
 public:
  Comparing(const StackLock& lock, const Fingerprint& facts,
            const std::map<std::string, std::string>& packages)
      : lock_(lock), packages_(packages) {
    for (const auto& fact : facts) facts_[fact.name] = &fact;
    for (const auto& flavour : lock.flavours()) {
      if (flavour.base.flavour == value("image.flavour")) lock_ = flavour;
    }
  }

  LockComparison run() {
    image();
    for (const auto& package : lock_.packages) installed(package.name, package.version, true);
    // If the address of a file is unknown, only its release is known, not Debian's revision.
    for (const auto& file : lock_.files) installed(file.name, file.version, file.url.has_value());
    if (lock_.host) host(*lock_.host);
    return std::move(result_);
  }

 private:
  std::optional<std::string> value(const std::string& name) const {
    const auto found = facts_.find(name);
    return found == facts_.end() ? std::nullopt : found->second->value;
  }

  void image() {
    const auto stack = value("image.stack");
    const auto digest = value("image.lock");
    if (!stack || !digest) {
      result_.notes.emplace_back(
          "not an image built by Proctor (/etc/proctor/stack): its lock's digest is not compared");
      return;
    }
    if (*stack != lock_.name)
      result_.differences.push_back(
          fmt::format("image: it belongs to the stack {}, not {}", *stack, lock_.name));
    if (*digest == "sha256:" + lock_.digest) {
      result_.equal.push_back("lock " + *digest);
    } else {
      result_.differences.push_back(fmt::format(
          "lock: the image was built from {}, but the lock is now sha256:{}", *digest, lock_.digest));
    }
  }

  void installed(const std::string& name, const std::string& version, bool exact) {
    const auto found = packages_.find(name);
    if (found == packages_.end()) {
      result_.differences.push_back(
          fmt::format("{}: the lock requires {}, but it is not installed", name, version));
    } else if (exact ? found->second == version : found->second.starts_with(version)) {
      result_.equal.push_back(name + " " + found->second);
    } else {
      result_.differences.push_back(
          fmt::format("{}: the lock requires {}, but {} is installed", name, version, found->second));
    }
  }

  void host(const LockedHost& host) {
    const auto driver = value("kmd." + host.driver);
    const auto have = Version::parse(driver.value_or(""));
    const auto need = Version::parse(host.minimum);
    if (!driver) {
      result_.differences.push_back(
          fmt::format("host: the lock requires the driver {} {} or newer, but it is not loaded", host.driver,
                      host.minimum));
    } else if (have && need && compare(*have, *need) >= 0) {
      result_.equal.push_back(
          fmt::format("host driver {} {} (at least {})", host.driver, *driver, host.minimum));
    } else {
      result_.differences.push_back(
          fmt::format("host: the lock requires the driver {} {} or newer, but {} is loaded", host.driver,
                      host.minimum, *driver));
    }
  }

  StackLock lock_;  // lock of the image's flavour
  const std::map<std::string, std::string>& packages_;
  std::map<std::string, const StackFact*> facts_;
  LockComparison result_;
};

}  // namespace

LockComparison compare_with_lock(const StackLock& lock, const Fingerprint& facts,
                                 const std::map<std::string, std::string>& packages) {
  return Comparing(lock, facts, packages).run();
}

namespace {

constexpr const char* kArchitecture = "amd64";

// Parses lines "HASH SIZE PATH" below "SHA256:" of a Release file into path -> hash.
std::map<std::string, std::string> release_hashes(const std::string& release) {
  std::map<std::string, std::string> hashes;
  std::istringstream lines(release);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(' ')) {
      inside = line.starts_with("SHA256:");
      continue;
    }
    std::istringstream words(line);
    std::string hash;
    std::string size;
    std::string path;
    if (inside && words >> hash >> size >> path) hashes[path] = hash;
  }
  return hashes;
}

class OnlineVerification {
 public:
  OnlineVerification(const StackLock& lock, const OutsideTools& tools,
                     const std::map<std::string, std::string>& mirrors)
      : lock_(lock), tools_(tools), mirrors_(mirrors) {}

  Result<WorldReport> run() {
    verify_base(lock_.base);
    for (const auto& other : lock_.other_bases) verify_base(other);
    for (const auto& repository : lock_.repositories) verify_repository(repository);
    for (const auto& package : lock_.packages) say_package(package);
    for (const auto& file : lock_.files) verify_file(file);
    say_wheels();
    if (missing_tool_) return *missing_tool_;
    return std::move(report_);
  }

 private:
  bool say(const std::string& what, WorldSays says, const std::string& words) {
    report_.checks.push_back({what, says, words});
    return says == WorldSays::kSame || says == WorldSays::kNew;
  }
  bool failed(const std::string& what, const Error& error) {
    if (error.kind == ErrorKind::kUsage && !missing_tool_) missing_tool_ = error;
    return say(what, WorldSays::kSilent, error.message() + (error.hint.empty() ? "" : " " + error.hint));
  }
  void fill(const LockEntry& entry, const std::string& key, const std::string& value, bool verified) {
    report_.changes.push_back({.entry = entry, .key = key, .value = value, .verified = verified});
  }

  void verify_base(const LockedBase& base);
  void verify_repository(const LockedRepository& repository);
  bool verify_suite(const LockedRepository& repository, const std::string& url, const std::string& suite);
  bool verify_key(const LockedRepository& repository, bool verified);
  bool verify_index(const std::string& what, const std::string& url, const std::string& component,
                    const std::map<std::string, std::string>& hashes);
  void say_package(const LockedPackage& package);
  void verify_file(const LockedFile& file);
  void say_wheels();

  const StackLock& lock_;
  const OutsideTools& tools_;
  const std::map<std::string, std::string>& mirrors_;
  WorldReport report_;
  std::optional<Error> missing_tool_;
  std::map<std::string, std::set<std::string>> offered_;  // versions of packages in all repositories
  bool indexes_complete_ = true;
  std::set<std::string> signers_;  // signers of the current repository
};

void OnlineVerification::verify_base(const LockedBase& base) {
  const LockEntry entry{"base", base.flavour};
  const std::string what =
      lock_.other_bases.empty() ? "base.digest" : fmt::format("base.{}.digest", base.flavour);
  const ImageName image = parse_image_name(base.image);
  // A verified digest stays valid when the tag moves, as long as the registry keeps the image.
  const bool by_digest = base.digest && !base.unverified;
  const auto digest = image_digest(image, by_digest ? *base.digest : image.tag, tools_);
  if (!digest) return void(failed(what, digest.error()));
  if (digest->empty())
    return void(
        say(what, WorldSays::kDiffers,
            fmt::format("the registry has no {}{}", base.image, by_digest ? "@" + *base.digest : "")));
  if (!is_image_digest(*digest))
    return void(say(what, WorldSays::kDiffers,
                    fmt::format("the registry returns \"{}\", which is not a digest", *digest)));
  if (!base.digest) {
    say(what, WorldSays::kNew, *digest);
    return fill(entry, "digest", *digest, true);
  }
  if (*digest != *base.digest)
    return void(say(what, WorldSays::kDiffers,
                    fmt::format("the lock contains {}, the registry {}", *base.digest, *digest)));
  say(what, WorldSays::kSame, *digest);
  if (base.unverified) fill(entry, "", "", true);
}

// Only 404 and 410 mean that a file is gone. Any other server error is not a result for the lock.
WorldSays refusal(int status) {
  return status == 404 || status == 410 ? WorldSays::kDiffers : WorldSays::kSilent;
}

bool OnlineVerification::verify_index(const std::string& what, const std::string& url,
                                      const std::string& component,
                                      const std::map<std::string, std::string>& hashes) {
  for (const char* end : {".gz", ".xz", ""}) {
    const std::string path = fmt::format("{}/binary-{}/Packages{}", component, kArchitecture, end);
    const auto hash = hashes.find(path);
    if (hash == hashes.end()) continue;
    const auto answer = tools_.get(url + "/" + path);
    if (!answer) return failed(what, answer.error());
    if (answer->status != 200)
      return say(what, refusal(answer->status), fmt::format("{}/{}: HTTP {}", url, path, answer->status));
    if (sha256_hex(answer->body) != hash->second)
      return say(what, WorldSays::kDiffers, path + " does not match the signature of the repository");
    const auto text = tools_.unpack(path, answer->body);
    if (!text) return failed(what, text.error());
    for (const auto& [name, versions] : offered_packages(*text))
      offered_[name].insert(versions.begin(), versions.end());
    return true;
  }
  return say(what, WorldSays::kDiffers, fmt::format("it has no component {}", component));
}

bool OnlineVerification::verify_suite(const LockedRepository& repository, const std::string& url,
                                      const std::string& suite) {
  const std::string what = fmt::format("repository.{}.{}", repository.name, suite);
  const std::string suite_url = fmt::format("{}/dists/{}", url, suite);
  const auto release = tools_.get(suite_url + "/InRelease");
  if (!release) return failed(what, release.error());
  if (release->status != 200)
    return say(what, refusal(release->status),
               fmt::format("{}/InRelease: HTTP {}", suite_url, release->status));
  const auto part = tools_.signed_part(release->body);
  if (!part) return failed(fmt::format("repository.{}.key", repository.name), part.error());
  std::set<std::string> here(part->signers.begin(), part->signers.end());
  if (repository.key && !here.contains(*repository.key)) {
    return say(fmt::format("repository.{}.key", repository.name), WorldSays::kDiffers,
               fmt::format("the lock contains {}, but {} is signed by {}", *repository.key, suite,
                           fmt::join(here, ", ")));
  }
  signers_.insert(here.begin(), here.end());
  if (!lock_.packages.empty()) {
    const auto hashes = release_hashes(part->text);
    for (const auto& component : repository.components) {
      if (!verify_index(what, suite_url, component, hashes)) return false;
    }
  }
  return say(what, WorldSays::kSame, suite_url + " answers");
}

bool OnlineVerification::verify_key(const LockedRepository& repository, bool verified) {
  const std::string what = fmt::format("repository.{}.key", repository.name);
  if (repository.key) return say(what, WorldSays::kSame, *repository.key);
  if (signers_.size() != 1) {
    return say(
        what, WorldSays::kUnknown,
        fmt::format("{} keys have signed it; choose one: {}", signers_.size(), fmt::join(signers_, ", ")));
  }
  say(what, WorldSays::kNew, *signers_.begin());
  fill({"repository", repository.name}, "key", *signers_.begin(), verified);
  return true;
}

void OnlineVerification::verify_repository(const LockedRepository& repository) {
  signers_.clear();
  const auto mirror = mirrors_.find(repository.name);
  LockedRepository asked = repository;
  if (mirror != mirrors_.end()) asked.url = mirror->second;
  const std::string url = asked.url_at_snapshot();
  bool good = true;
  for (const auto& suite : repository.suites) good = verify_suite(repository, url, suite) && good;
  indexes_complete_ = indexes_complete_ && good;
  const bool verified = mirror == mirrors_.end();
  if (!good || !verify_key(repository, verified)) return;
  if (repository.key && repository.unverified && verified)
    fill({"repository", repository.name}, "", "", true);
}

void OnlineVerification::say_package(const LockedPackage& package) {
  const std::string what = "package." + package.name;
  const auto found = offered_.find(package.name);
  if (found != offered_.end() && found->second.contains(package.version)) {
    say(what, WorldSays::kSame, package.version);
    if (package.unverified && mirrors_.empty()) fill({"package", package.name}, "", "", true);
    return;
  }
  if (!indexes_complete_) return void(say(what, WorldSays::kSilent, "not every repository responded"));
  say(what, WorldSays::kDiffers,
      found == offered_.end() ? fmt::format("the lock contains {}, but no repository has it", package.version)
                              : fmt::format("the lock contains {}, but there is {}", package.version,
                                            fmt::join(found->second, ", ")));
}

void OnlineVerification::verify_file(const LockedFile& file) {
  const std::string what = fmt::format("file.{}.sha256", file.name);
  if (!file.url) {
    return void(say(fmt::format("file.{}.url", file.name), WorldSays::kUnknown,
                    fmt::format("the address of {} {} cannot be looked up", file.name, file.version)));
  }
  const auto answer = tools_.get(*file.url);
  if (!answer) return void(failed(what, answer.error()));
  if (answer->status != 200)
    return void(say(what, refusal(answer->status), fmt::format("{}: HTTP {}", *file.url, answer->status)));
  const std::string hash = sha256_hex(answer->body);
  if (file.sha256 && hash != *file.sha256)
    return void(say(what, WorldSays::kDiffers,
                    fmt::format("the lock contains {}, but {} has {}", *file.sha256, *file.url, hash)));
  say(what, file.sha256 ? WorldSays::kSame : WorldSays::kNew, hash);
  if (!file.sha256) return fill({"file", file.name}, "sha256", hash, true);
  if (file.unverified) fill({"file", file.name}, "", "", true);
}

void OnlineVerification::say_wheels() {
  for (const auto& wheel : lock_.wheels)
    say("wheel." + wheel.name, WorldSays::kUnasked,
        wheel.version + ": it is not checked online; pip compares its hashes when the image is built");
}

}  // namespace

std::string_view to_string(WorldSays says) {
  switch (says) {
    case WorldSays::kSame:
      return "ok";
    case WorldSays::kDiffers:
      return "differs";
    case WorldSays::kNew:
      return "new";
    case WorldSays::kUnknown:
      return "unknown";
    case WorldSays::kSilent:
      return "silent";
    case WorldSays::kUnasked:
      return "unasked";
  }
  return "?";
}

Result<WorldReport> verify_online(const StackLock& lock, const OutsideTools& tools,
                                  const std::map<std::string, std::string>& mirrors) {
  return OnlineVerification(lock, tools, mirrors).run();
}

}  // namespace proctor
