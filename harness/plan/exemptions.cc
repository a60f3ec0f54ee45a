#include "harness/plan/exemptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/base/named_file.h"
#include "harness/base/toml_reader.h"

namespace proctor {
namespace {

// Returns "xpu" for "visibility.xpu/Group.Name".
std::string_view backend_of(std::string_view check) {
  const auto suite = check.substr(0, check.find('/'));
  const auto dot = suite.rfind('.');
  return dot == std::string_view::npos ? "" : suite.substr(dot + 1);
}

}  // namespace

Result<std::vector<Exemption>> parse_exemptions(std::string_view text, const std::string& name) {
  const auto root = parse_toml(text, name);
  if (!root) return root.error();
  TableReader top(name, *root, "the top level", {"exempt"});
  std::vector<Exemption> exemptions;
  for (const toml::table* table : top.tables("exempt")) {
    TableReader reader(name, *table, "[[exempt]]", {"check", "reason"});
    Exemption entry;
    reader.require({"check", "reason"});
    reader.read("check", entry.check);
    reader.read("reason", entry.reason);
    if (!reader.error() && entry.reason.empty()) reader.fail("reason", "`reason` in [[exempt]] is empty");
    const bool twice = std::any_of(exemptions.begin(), exemptions.end(),
                                   [&](const Exemption& known) { return known.check == entry.check; });
    if (!reader.error() && twice) reader.fail("check", fmt::format("{} is exempt twice", entry.check));
    if (reader.error()) return *reader.error();
    exemptions.push_back(std::move(entry));
  }
  if (top.error()) return *top.error();
  std::map<std::string_view, std::size_t> exempt;
  for (const auto& entry : exemptions) {
    const auto backend = backend_of(entry.check);
    if (++exempt[backend] > kMaxExemptions) {
      return Error::refused(
          fmt::format("{}: more than {} checks of backend {} are exempt", name, kMaxExemptions, backend));
    }
  }
  return exemptions;
}

std::vector<Exemption> exemptions_of(std::string_view backend, const std::vector<Exemption>& all) {
  std::vector<Exemption> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const Exemption& entry) { return backend_of(entry.check) == backend; });
  return some;
}

Result<std::vector<Exemption>> load_exemptions(const std::string& path) {
  const auto text = read_found_file(path);
  if (!text) return text.error();
  return parse_exemptions(*text, path);
}

}  // namespace proctor
