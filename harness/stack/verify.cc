#include "harness/stack/verify.h"

#include <fmt/format.h>

#include "harness/base/version.h"

namespace proctor {
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
    // Of a file whose address is not known only the release is known, not Debian's revision of it.
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

  StackLock lock_;  // of the image's flavour
  const std::map<std::string, std::string>& packages_;
  std::map<std::string, const StackFact*> facts_;
  LockComparison result_;
};

}  // namespace

LockComparison compare_with_lock(const StackLock& lock, const Fingerprint& facts,
                                 const std::map<std::string, std::string>& packages) {
  return Comparing(lock, facts, packages).run();
}

}  // namespace proctor
