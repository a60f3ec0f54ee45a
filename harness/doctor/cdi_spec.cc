#include "harness/doctor/cdi_spec.h"

#include <algorithm>

#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kBlank = " \t";

// What stands before a key: nothing, a list's dash, or a bracket of a flow mapping, which JSON is.
bool may_precede_key(char c) { return std::string_view(" \t-{,\"'").find(c) != std::string_view::npos; }

// "nvidia.com/gpu" of `"nvidia.com/gpu", ...`; a plain value ends with its line, a comma, a bracket or a comment.
std::string value_at(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
  if (rest.empty()) return {};
  if (rest.front() == '"' || rest.front() == '\'') {
    const auto end = rest.find(rest.front(), 1);
    return end == rest.npos ? std::string() : std::string(rest.substr(1, end - 1));
  }
  const auto end = std::min(rest.find_first_of(",}]"), rest.find(" #"));
  return std::string(trimmed(rest.substr(0, end)));
}

std::vector<std::string> values_of(std::string_view text, std::string_view key) {
  std::vector<std::string> values;
  for (const std::string_view line : lines_of(text)) {
    if (trimmed(line).starts_with('#')) continue;
    for (auto at = line.find(key); at != line.npos; at = line.find(key, at + key.size())) {
      if (at > 0 && !may_precede_key(line[at - 1])) continue;
      std::string_view rest = line.substr(at + key.size());
      if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
      rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
      if (rest.starts_with(':')) values.push_back(value_at(rest.substr(1)));
    }
  }
  std::erase(values, "");
  return values;
}

}  // namespace

bool is_libcuda(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("libcuda.so."); }

std::string driver_version_of(std::string_view path) {
  const auto at = path.rfind(".so.");
  const std::string_view version = at == path.npos ? "" : path.substr(at + 4);
  const auto dot = std::min(version.find_first_not_of("0123456789"), version.size());
  return dot >= 3 && version.substr(dot).starts_with('.') ? std::string(version) : std::string();
}

bool CdiSpec::is_nvidia() const {
  const std::string_view vendor = std::string_view(kind).substr(0, kind.find('/'));
  return vendor == "nvidia.com" || vendor.ends_with(".nvidia.com");
}

CdiSpec read_cdi_spec(std::string file, std::string_view text) {
  CdiSpec spec{.file = std::move(file)};
  const auto kinds = values_of(text, "kind");
  if (!kinds.empty()) spec.kind = kinds.front();
  spec.host_paths = values_of(text, "hostPath");
  spec.nodes = values_of(text, "path");
  std::erase_if(spec.nodes, [](const std::string& path) { return !path.starts_with("/dev/"); });
  return spec;
}

}  // namespace proctor
