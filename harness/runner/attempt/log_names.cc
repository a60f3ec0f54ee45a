#include "harness/runner/attempt/log_names.h"

#include <algorithm>
#include <string_view>

#include "harness/base/digest.h"

namespace proctor {
namespace {

constexpr std::size_t kLongestName = 150;
constexpr std::size_t kHashDigits = 8;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '+' || c == '=' || c == ',' || c == '@';
}

// Returns a name that is not hidden, not an option and not a path to a parent directory.
std::string safe_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_plain(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  if (name.starts_with('.')) name.front() = '_';
  return name.empty() ? "case" : name;
}

std::string with_hash(std::string stem, const std::string& id) {
  const std::size_t name = stem.rfind('/') + 1;
  if (stem.size() > name + kLongestName - kHashDigits) stem.resize(name + kLongestName - kHashDigits);
  return stem + "-" + sha256_hex(id).substr(0, kHashDigits);
}

std::string plain_stem(const std::string& id) {
  const std::size_t slash = id.find('/');
  if (slash == std::string::npos) return safe_name(id);
  std::string directory = safe_name(id.substr(0, slash));
  if (directory.size() > kLongestName) directory = with_hash(std::move(directory), id.substr(0, slash));
  return directory + "/" + safe_name(id.substr(slash + 1));
}

bool is_long(const std::string& stem) { return stem.size() - (stem.rfind('/') + 1) > kLongestName; }

}  // namespace

LogNames::LogNames(const Plan& plan) {
  std::set<std::string> seen;
  for (const Case& test : plan.cases) {
    std::string stem = plain_stem(test.id);
    if (seen.contains(stem)) {
      shared_.insert(std::move(stem));
    } else {
      seen.insert(std::move(stem));
    }
  }
  std::map<std::string, std::string> owners;
  for (const Case& test : plan.cases) {
    const std::string usual = usual_stem(test.id);
    std::string stem = usual;
    for (int n = 2; owners.try_emplace(stem, test.id).first->second != test.id; ++n)
      stem = usual + "-" + std::to_string(n);
    if (stem != usual) numbered_[test.id] = std::move(stem);
  }
}

std::string LogNames::stem(const std::string& case_id) const {
  const auto numbered = numbered_.find(case_id);
  return numbered != numbered_.end() ? numbered->second : usual_stem(case_id);
}

std::string LogNames::usual_stem(const std::string& case_id) const {
  std::string stem = plain_stem(case_id);
  return shared_.contains(stem) || is_long(stem) ? with_hash(std::move(stem), case_id) : stem;
}

}  // namespace proctor
