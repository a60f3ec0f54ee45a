#include "reports/pack/private_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "harness/base/json.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::string_view kHost = "HOST";
constexpr std::string_view kUser = "USER";
constexpr std::string_view kAddress = "ADDRESS";
constexpr std::string_view kHomes = "/home/";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_of_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_of_name(char c) { return is_of_word(c) || c == '-'; }

// Returns the end of the name that begins at `at`. `is_of` accepts the characters of a name.
template <typename IsOf>
std::size_t end_of(std::string_view text, std::size_t at, const IsOf& is_of) {
  while (at < text.size() && is_of(text[at])) ++at;
  return at;
}

// The characters that must not be adjacent to a name, so that it is a whole word.
struct Edges {
  bool (*before)(char);  // must not be in front of it
  bool (*after)(char);   // must not follow it
};
constexpr Edges kWord{is_of_word, is_of_word};
constexpr Edges kPath{is_of_name, is_of_name};
bool is_of_address(char c) { return is_hex(c) || c == '.' || c == ':'; }
constexpr Edges kNumbers{is_of_address, is_hex};

bool is_whole(std::string_view text, std::size_t at, std::size_t length, const Edges& edges) {
  const bool begins = at == 0 || !edges.before(text[at - 1]);
  return begins && (at + length == text.size() || !edges.after(text[at + length]));
}

void replace_all(std::string& text, std::string_view name, std::string_view word, const Edges& edges) {
  if (name.empty()) return;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    if (is_whole(text, at, name.size(), edges)) {
      text.replace(at, name.size(), word);
      at += word.size();
    } else {
      at += name.size();
    }
  }
}

// Replaces a host name and the labels that follow it, as in "gpu-07.example.org".
void replace_host(std::string& text, std::string_view host) {
  if (host.empty()) return;
  for (std::size_t at = text.find(host); at != std::string::npos; at = text.find(host, at + kHost.size())) {
    if (!is_whole(text, at, host.size(), kWord)) continue;
    std::size_t end = at + host.size();
    while (end + 1 < text.size() && text[end] == '.' && is_of_name(text[end + 1]))
      end = end_of(text, end + 1, is_of_name);
    text.replace(at, end - at, kHost);
  }
}

void replace_homes(std::string& text) {
  for (std::size_t at = text.find(kHomes); at != std::string::npos; at = text.find(kHomes, at)) {
    at += kHomes.size();
    const std::size_t end = end_of(text, at, [](char c) { return is_of_name(c) || c == '.' || c == '@'; });
    text.replace(at, end - at, kUser);
  }
}

// The messages are "pid 12 (COMMAND) has 5 MiB" of harness/devices/admission, and "X is held by pid 12 (uid 0, run R, since
// S): COMMAND" of a lease.
void replace_commands(std::string& line) {
  for (std::size_t at = line.find("pid "); at != std::string::npos; at = line.find("pid ", at)) {
    at = end_of(line, at + 4, is_digit);
    if (line.compare(at, 2, " (") != 0) continue;
    const std::size_t has = line.find(") has ", at);
    if (has != std::string::npos) line.replace(at + 2, has - at - 2, "another process");
  }
  const std::size_t held = line.find(" is held by pid ");
  const std::size_t command = held == std::string::npos ? held : line.find("): ", held);
  if (command != std::string::npos) line.replace(command + 3, std::string::npos, "another process");
}

// A UUID at the start of a text, with or without dashes, and its length there.
struct Uuid {
  std::string digits;
  std::size_t length = 0;
};
std::optional<Uuid> uuid_at(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  constexpr std::array kDashes = {8U, 13U, 18U, 23U};
  const bool has_dashes = text.size() > kDashes[0] && text[kDashes[0]] == '-';
  const std::size_t length = has_dashes ? kDigits + kDashes.size() : kDigits;
  if (text.size() < length || (text.size() > length && is_of_word(text[length]))) return std::nullopt;
  Uuid uuid{.digits = {}, .length = length};
  for (std::size_t i = 0; i < length; ++i) {
    const bool is_dash = has_dashes && std::ranges::find(kDashes, i) != kDashes.end();
    if (is_dash ? text[i] != '-' : !is_hex(text[i])) return std::nullopt;
    if (!is_dash) uuid.digits += text[i];
  }
  return uuid;
}

// A kernel keeps at most 15 letters of a program's name.
bool is_ours(std::string_view process) {
  constexpr std::array kOurs = {"proctor",        "visibility_xpu",  "memory_xpu", "kernels_xpu",
                                "management_xpu", "collectives_xpu", "health_xpu"};
  return std::ranges::any_of(kOurs,
                             [&](std::string_view name) { return process.starts_with(name.substr(0, 15)); });
}

// The kernel drivers xe and i915 name the process of a job: "Timedout job in NAME [123]",
// "[drm] NAME[123] context reset".
void replace_processes(std::string& line) {
  constexpr std::string_view kProcess = "a process";
  for (std::size_t at = line.find(" in "); at != std::string::npos; at = line.find(" in ", at)) {
    at += 4;
    const std::size_t bracket = line.find(" [", at);
    if (bracket == std::string::npos) break;
    const bool is_number = bracket + 2 < line.size() && is_digit(line[bracket + 2]);
    if (is_number && !is_ours(std::string_view(line).substr(at))) line.replace(at, bracket - at, kProcess);
  }
  const std::size_t drm = line.find("[drm] ");
  const std::size_t name = drm == std::string::npos ? drm : drm + 6;
  const std::size_t bracket = name == std::string::npos ? name : line.find('[', name);
  if (bracket == std::string::npos || bracket == name || bracket + 1 == line.size()) return;
  const bool is_process = is_digit(line[bracket + 1]) && line[bracket - 1] != ' ';
  if (is_process && !is_ours(std::string_view(line).substr(name)))
    line.replace(name, bracket - name, kProcess);
}

bool is_of_graphics(std::string_view line) {
  const bool has_time = line.size() > 1 && line[0] == '[' && (line[1] == ' ' || is_digit(line[1]));
  if (has_time) line.remove_prefix(std::min(line.find(']'), line.size() - 1) + 1);
  line = trimmed(line);
  constexpr std::array kWriters = {"xe ", "i915 ", "pcieport ", "[drm", "drm", "dmesg: "};
  return std::ranges::any_of(kWriters, [&](std::string_view writer) { return line.starts_with(writer); });
}

}  // namespace

PrivateText::PrivateText(PrivateNames names) : names_(std::move(names)) {
  std::ranges::sort(names_.directories,
                    [](const auto& one, const auto& other) { return one.first.size() > other.first.size(); });
  const auto is_kept = [&](const std::string& name) { return names_.words.contains(name); };
  std::erase_if(names_.hosts, is_kept);
  std::erase_if(names_.users, is_kept);
  std::erase_if(names_.directories, [](const auto& entry) { return entry.first.size() < 2; });  // "" and "/"
}

// A UUID of zeros identifies nothing, and stays.
std::string PrivateText::without_uuids(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::max(end_of(text, at, is_of_word), at + 1);
    const auto uuid = end - at >= 8 ? uuid_at(text.substr(at)) : std::nullopt;
    if (uuid && uuid->digits.find_first_not_of('0') != std::string::npos) {
      const auto [known, is_new] = uuids_.try_emplace(lower_case(uuid->digits));
      if (is_new) known->second = fmt::format("00000000-0000-0000-0000-{:012}", uuids_.size());
      out += known->second;
      at += uuid->length;
    } else {
      out += text.substr(at, end - at);
      at = end;
    }
  }
  return out;
}

std::string PrivateText::hide(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const bool has_newline = text[end - 1] == '\n';
    std::string line = without_uuids(text.substr(at, end - at - (has_newline ? 1 : 0)));
    replace_commands(line);
    replace_processes(line);
    out += line;
    if (has_newline) out += '\n';
    at = end;
  }
  for (const auto& [directory, word] : names_.directories) replace_all(out, directory, word, kPath);
  replace_homes(out);
  for (const std::string& user : names_.users) replace_all(out, user, kUser, kWord);
  for (const std::string& host : names_.hosts) replace_host(out, host);
  for (const std::string& address : names_.addresses) replace_all(out, address, kAddress, kNumbers);
  return out;
}

void PrivateText::hide_in(nlohmann::json& document) {
  if (document.is_string()) {
    document = hide(document.get_ref<const std::string&>());
  } else if (document.is_structured()) {
    for (auto& part : document) hide_in(part);
  }
}

std::string graphics_lines(std::string_view log) {
  std::string out;
  for (const std::string_view line : lines_of(log)) {
    if (is_of_graphics(line)) out += std::string(line) + '\n';
  }
  return out;
}

}  // namespace proctor
