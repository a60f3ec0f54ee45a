#include "harness/stack/lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/named_file.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/stack/lock_format.h"

namespace proctor {
namespace {

constexpr int kLockVersion = 1;
constexpr const char* kUnverifiedHint =
    "If the value is not known yet, leave it out and write unverified = true.";

using Rule = bool (*)(std::string_view);

// Reads the tables of one lock and stops at the first mistake.
class LockReader {
 public:
  LockReader(const std::string& file, const toml::table& root) : file_(file), root_(root) {}

  Result<StackLock> read();

 private:
  // Reads a value that must match `rule`. `expected` completes the error "must be ...".
  void text(TableReader& table, const char* key, std::string& out, Rule rule, const char* expected);
  void text(TableReader& table, const char* key, std::optional<std::string>& out, Rule rule,
            const char* expected);
  void words(TableReader& table, const char* key, std::vector<std::string>& out, Rule rule,
             const char* expected);
  // Reads a pin, which may be missing only if the entry is `unverified`.
  void pin(TableReader& table, const char* key, std::optional<std::string>& out, bool unverified, Rule rule,
           const char* expected);

  void moment(TableReader& table, LockedRepository& repository);
  void source(TableReader& table, std::string& out);

  void bases(TableReader& top);
  LockedBase base(const toml::table& table);
  void flavour(TableReader& table, std::string& out);
  LockedRepository repository(const toml::table& table);
  LockedPackage package(const toml::table& table);
  LockedFile file(const toml::table& table);
  LockedWheel wheel(const toml::table& table);
  LockedHost host(const toml::table& table);
  void labels(const toml::table& table);
  void run(const toml::table& table);
  void once(TableReader& table, const std::string& name);
  void packages_have_a_repository(TableReader& top);
  void flavours_have_a_base(TableReader& top);
  void wheels_have_pip(TableReader& top);

  // Takes over the first error of a table as the error of the lock.
  void close(const TableReader& table) {
    if (!error_ && table.error()) error_ = table.error();
  }

  const std::string& file_;
  const toml::table& root_;
  StackLock lock_;
  std::set<std::string> names_;  // names of packages and files, which dpkg requires to be unique
  std::set<std::string> wheels_;
  std::optional<Error> error_;
};

void LockReader::text(TableReader& table, const char* key, std::optional<std::string>& out, Rule rule,
                      const char* expected) {
  table.read(key, out);
  if (out && !rule(*out) && !table.error()) {
    table.fail(key, fmt::format("`{}` is \"{}\", but must be {}", key, *out, expected));
  }
}

void LockReader::text(TableReader& table, const char* key, std::string& out, Rule rule,
                      const char* expected) {
  table.require(key);
  std::optional<std::string> value;
  text(table, key, value, rule, expected);
  if (value) out = *value;
}

void LockReader::words(TableReader& table, const char* key, std::vector<std::string>& out, Rule rule,
                       const char* expected) {
  std::optional<std::vector<std::string>> values;
  table.read(key, values);
  if (!values) return;
  for (const std::string& value : *values) {
    if (rule(value)) continue;
    return table.fail(key, fmt::format("`{}` contains \"{}\", but takes only {}", key, value, expected));
  }
  out = *values;
}

void LockReader::pin(TableReader& table, const char* key, std::optional<std::string>& out, bool unverified,
                     Rule rule, const char* expected) {
  text(table, key, out, rule, expected);
  if (!out && !unverified && !table.error()) {
    table.fail(key, fmt::format("not pinned: the key `{}` is missing", key), kUnverifiedHint);
  }
}

void LockReader::flavour(TableReader& table, std::string& out) {
  std::optional<std::string> value;
  table.read_choice("flavour", value, {kBaseFlavour, kDevelFlavour});
  if (value) out = *value;
}

LockedBase LockReader::base(const toml::table& table) {
  TableReader reader(file_, table, "[base]", {"flavour", "image", "digest", "source", "unverified"});
  LockedBase base;
  flavour(reader, base.flavour);
  reader.read("unverified", base.unverified);
  text(reader, "image", base.image, is_image_with_tag, "NAME:TAG, and not :latest");
  pin(reader, "digest", base.digest, base.unverified, is_image_digest, "sha256: and 64 hex digits");
  source(reader, base.source);
  close(reader);
  return base;
}

// Reads [base], or [[base]] for each flavour.
void LockReader::bases(TableReader& top) {
  if (const toml::node* node = top.wanted("base"); node == nullptr || !node->is_array()) {
    if (const auto* table = top.table("base")) lock_.base = base(*table);
    return;
  }
  std::set<std::string> seen;
  for (const auto* table : top.tables("base")) {
    LockedBase one = base(*table);
    if (one.flavour.empty() || !seen.insert(one.flavour).second)
      top.fail(*table, "each of several [[base]] needs its own `flavour`");
    if (seen.size() == 1)
      lock_.base = std::move(one);
    else
      lock_.other_bases.push_back(std::move(one));
  }
  if (seen.empty()) top.fail("base", "`base` is empty");
}

// Reads the date of a repository. A repository without dates pins only the exact package versions of the lock, which
// requires that the repository keeps old versions. If it drops one, the build fails, but it never produces another
// image.
void LockReader::moment(TableReader& table, LockedRepository& repository) {
  bool keeps_versions = false;
  table.read("keeps_versions", keeps_versions);
  const bool dated = repository.url.find("{snapshot}") != std::string::npos;
  if (dated && keeps_versions)
    return table.fail("keeps_versions", "`url` has a date, and its versions do not change");
  if (!dated && !keeps_versions) {
    return table.fail("url", "not pinned: `url` has no place for the date",
                      "Write {snapshot} in its place, or keeps_versions = true.");
  }
  if (dated)
    return text(table, "snapshot", repository.snapshot, is_snapshot, "a date such as 20261120T000000Z");
  std::optional<std::string> snapshot;
  table.read("snapshot", snapshot);
  if (snapshot)
    table.fail("snapshot",
               "`snapshot` cannot be combined with keeps_versions = true: `url` contains no date");
}

void LockReader::source(TableReader& table, std::string& out) {
  std::optional<std::string> value;
  text(table, "source", value, is_label_text, "one line without quotes, $ and backslashes");
  if (value) out = *value;
}

LockedRepository LockReader::repository(const toml::table& table) {
  TableReader reader(file_, table, "[[repository]]",
                     {"name", "url", "snapshot", "keeps_versions", "suites", "components", "key", "key_url",
                      "source", "unverified"});
  LockedRepository repository;
  reader.read("unverified", repository.unverified);
  text(reader, "name", repository.name, is_package_name, "lower-case letters and digits");
  text(reader, "url", repository.url, is_web_address, "an address with http:// or https://");
  moment(reader, repository);
  reader.require({"suites", "components"});
  words(reader, "suites", repository.suites, is_plain_word, "names of suites");
  words(reader, "components", repository.components, is_plain_word, "names of components");
  pin(reader, "key", repository.key, repository.unverified, is_key_fingerprint,
      "a fingerprint of 40 upper-case hex digits");
  text(reader, "key_url", repository.key_url, is_web_address, "an address with http:// or https://");
  if (repository.key_url && !repository.key)
    reader.fail("key_url", "not pinned: `key_url` without `key`: any key there would be trusted");
  source(reader, repository.source);
  close(reader);
  return repository;
}

void LockReader::once(TableReader& table, const std::string& name) {
  if (!names_.insert(name).second) table.fail("name", fmt::format("`{}` is in this lock twice", name));
}

LockedPackage LockReader::package(const toml::table& table) {
  TableReader reader(file_, table, "[[package]]", {"name", "version", "source", "flavour", "unverified"});
  LockedPackage package;
  reader.read("unverified", package.unverified);
  source(reader, package.source);
  flavour(reader, package.flavour);
  text(reader, "name", package.name, is_package_name, "a package's name");
  text(reader, "version", package.version, is_exact_version, "one exact version");
  once(reader, package.name);
  close(reader);
  return package;
}

LockedFile LockReader::file(const toml::table& table) {
  TableReader reader(file_, table, "[[file]]",
                     {"name", "version", "url", "sha256", "source", "flavour", "unverified"});
  LockedFile file;
  flavour(reader, file.flavour);
  reader.read("unverified", file.unverified);
  text(reader, "name", file.name, is_package_name, "a package's name");
  text(reader, "version", file.version, is_exact_version, "one exact version");
  pin(reader, "url", file.url, file.unverified, is_web_address, "an address with http:// or https://");
  pin(reader, "sha256", file.sha256, file.unverified, is_sha256, "64 lower-case hex digits");
  source(reader, file.source);
  once(reader, file.name);
  close(reader);
  return file;
}

// Reads a wheel. pip installs only listed wheels, so a missing dependency is detected when the program runs, not here.
LockedWheel LockReader::wheel(const toml::table& table) {
  TableReader reader(file_, table, "[[wheel]]",
                     {"name", "version", "sha256", "source", "flavour", "unverified"});
  LockedWheel wheel;
  reader.read("unverified", wheel.unverified);
  text(reader, "name", wheel.name, is_wheel_name, "a Python package's name");
  text(reader, "version", wheel.version, is_exact_version, "one exact version");
  reader.require("sha256");
  words(reader, "sha256", wheel.sha256, is_sha256, "64 lower-case hex digits");
  if (wheel.sha256.empty()) reader.fail("sha256", "not pinned: `sha256` has no hash");
  source(reader, wheel.source);
  flavour(reader, wheel.flavour);
  if (!wheels_.insert(lower_case(wheel.name)).second)
    reader.fail("name", fmt::format("`{}` is in this lock twice", wheel.name));
  close(reader);
  return wheel;
}

LockedHost LockReader::host(const toml::table& table) {
  TableReader reader(file_, table, "[host]", {"driver", "minimum", "source"});
  LockedHost host;
  text(reader, "driver", host.driver, is_plain_word, "the name of a kernel driver");
  text(reader, "minimum", host.minimum, is_exact_version, "a version");
  text(reader, "source", host.source, is_web_address, "an address with http:// or https://");
  close(reader);
  return host;
}

void LockReader::labels(const toml::table& table) {
  for (const auto& [key, value] : table) {
    const auto* text = value.as_string();
    if (text != nullptr && is_label_text(text->get()) && is_plain_word(key.str())) {
      lock_.labels[std::string(key.str())] = text->get();
    } else if (!error_) {
      error_ =
          toml_error(file_, value.source(),
                     fmt::format("label `{}` is {}, but must be one line without quotes, $ and backslashes",
                                 key.str(), value_text(value)));
    }
  }
}

void LockReader::run(const toml::table& table) {
  TableReader reader(file_, table, "[run]", {"shm_size", "environment"});
  text(reader, "shm_size", lock_.shm_size, is_size, "a size such as \"8g\"");
  words(reader, "environment", lock_.environment, is_variable_name, "names of variables");
  close(reader);
}

void LockReader::packages_have_a_repository(TableReader& top) {
  const bool installs = !lock_.packages.empty() || !lock_.files.empty();
  if (installs && lock_.repositories.empty()) {
    top.fail(lock_.packages.empty() ? "file" : "package",
             "not pinned: packages and their dependencies require a [[repository]]");
  }
}

void LockReader::flavours_have_a_base(TableReader& top) {
  const auto check = [&](const char* key, const std::string& name, const std::string& flavour) {
    const auto has = [&](const LockedBase& base) { return base.flavour == flavour; };
    if (flavour.empty() || has(lock_.base) || std::ranges::any_of(lock_.other_bases, has)) return;
    top.fail(key, fmt::format("`{}` is for the flavour \"{}\", and no base has it", name, flavour));
  };
  for (const auto& package : lock_.packages) check("package", package.name, package.flavour);
  for (const auto& file : lock_.files) check("file", file.name, file.flavour);
  for (const auto& wheel : lock_.wheels) check("wheel", wheel.name, wheel.flavour);
}

void LockReader::wheels_have_pip(TableReader& top) {
  for (const StackLock& flavour : lock_.flavours()) {
    const auto has_pip =
        std::ranges::any_of(flavour.packages, [](const auto& one) { return one.name == "python3-pip"; });
    if (flavour.wheels.empty() || has_pip) continue;
    top.fail("wheel", fmt::format("`{}` is installed by pip, which is missing", flavour.wheels.front().name),
             "Add a [[package]] python3-pip with its version.");
  }
}

Result<StackLock> LockReader::read() {
  TableReader top(file_, root_, "the lock",
                  {"version", "title", "date", "backend", "base", "repository", "package", "file", "wheel",
                   "host", "labels", "run"});
  top.require({"version", "backend", "base", "run"});
  std::optional<int> version;
  top.read("version", version, kLockVersion, kLockVersion);
  lock_.name = std::filesystem::path(file_).stem();
  if (!is_stack_name(lock_.name)) {
    return Error::usage(fmt::format("read {}: \"{}\" is not a valid stack name", file_, lock_.name),
                        "Use lower-case letters, digits, `-` and dots.");
  }
  text(top, "title", lock_.title, is_label_text, "one line without quotes, $ and backslashes");
  std::optional<std::string> date;
  text(top, "date", date, is_date, "a date such as 2026-11-23");
  if (date) lock_.date = *date;
  std::optional<std::string> backend;
  top.read_choice("backend", backend, {"cuda", "xpu", "none"});
  if (backend) lock_.backend = *backend;
  close(top);
  bases(top);
  for (const auto* table : top.tables("repository")) lock_.repositories.push_back(repository(*table));
  for (const auto* table : top.tables("package")) lock_.packages.push_back(package(*table));
  for (const auto* table : top.tables("file")) lock_.files.push_back(file(*table));
  for (const auto* table : top.tables("wheel")) lock_.wheels.push_back(wheel(*table));
  if (const auto* table = top.table("host")) lock_.host = host(*table);
  if (const auto* table = top.table("labels")) labels(*table);
  if (const auto* table = top.table("run")) run(*table);
  packages_have_a_repository(top);
  flavours_have_a_base(top);
  wheels_have_pip(top);
  close(top);
  if (error_) return *error_;
  return std::move(lock_);
}

}  // namespace

std::string LockedRepository::url_at_snapshot() const {
  constexpr std::string_view kPlace = "{snapshot}";
  std::string text = url;
  const auto at = text.find(kPlace);
  return at == std::string::npos ? text : text.replace(at, kPlace.size(), snapshot);
}

std::vector<StackLock> StackLock::flavours() const {
  std::vector<LockedBase> bases = {base};
  bases.insert(bases.end(), other_bases.begin(), other_bases.end());
  std::vector<StackLock> all;
  for (const auto& one : bases) {
    StackLock lock = *this;
    const auto of_another = [&](const auto& entry) {
      return !entry.flavour.empty() && entry.flavour != one.flavour;
    };
    lock.base = one;
    lock.other_bases.clear();
    std::erase_if(lock.packages, of_another);
    std::erase_if(lock.files, of_another);
    std::erase_if(lock.wheels, of_another);
    all.push_back(std::move(lock));
  }
  return all;
}

std::vector<std::string> StackLock::unknown() const {
  std::vector<std::string> names;
  if (!base.digest) names.push_back("base.digest");
  for (const auto& other : other_bases) {
    if (!other.digest) names.push_back("base." + other.flavour + ".digest");
  }
  for (const auto& repository : repositories) {
    if (!repository.key) names.push_back("repository." + repository.name + ".key");
  }
  for (const auto& file : files) {
    if (!file.url) names.push_back("file." + file.name + ".url");
    if (!file.sha256) names.push_back("file." + file.name + ".sha256");
  }
  return names;
}

Result<StackLock> parse_stack_lock(std::string_view text, const std::string& file) {
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  auto lock = LockReader(file, *root).read();
  if (lock) lock->digest = sha256_hex(text);
  return lock;
}

Result<std::vector<std::string>> stack_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ec)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  }
  if (names.empty()) {
    return Error::usage(fmt::format("find a lock in {}", directory),
                        "Name the directory that holds stacks/NAME.toml with --dir.");
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<StackLock> read_stack_lock(const std::string& directory, const std::string& name) {
  const auto names = stack_names(directory);
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    return Error::refused(fmt::format("There is no stack `{}` in {}", name, directory),
                          suggestion(name, *names, "stacks"));
  }
  const std::string file = (std::filesystem::path(directory) / (name + ".toml")).string();
  const auto text = read_found_file(file);
  return text ? parse_stack_lock(*text, file) : text.error();
}

const std::vector<StackLock>& embedded_locks() {
  static const std::vector<StackLock> kLocks = [] {
    std::vector<StackLock> locks;
    for (const auto& [name, text] :
         {std::pair("cpu-sim", embedded_cpu_sim()), std::pair("cuda-12", embedded_cuda_12()),
          std::pair("cuda-13", embedded_cuda_13()), std::pair("xpu-lts", embedded_xpu_lts()),
          std::pair("xpu-rolling", embedded_xpu_rolling())}) {
      if (auto lock = parse_stack_lock(text, std::string(name) + ".toml")) locks.push_back(*std::move(lock));
    }
    return locks;
  }();
  return kLocks;
}

}  // namespace proctor
