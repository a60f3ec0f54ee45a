#include "harness/runner/machine/known_listings.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/base/digest.h"
#include "harness/base/regular_file.h"
#include "harness/base/replace_file.h"

namespace proctor {
namespace {

constexpr std::string_view kVersion = "proctor listings " PROCTOR_VERSION;
constexpr std::uint64_t kMostListedBytes = std::uint64_t{256} << 20;

// ---- The file: pieces with their length before them. A piece can contain any bytes ----

void put(std::string& text, std::string_view piece) { text += fmt::format("{}:{}", piece.size(), piece); }

// Removes the first piece from `rest` and returns it. Returns nothing if no piece is complete.
std::optional<std::string> take(std::string_view& rest) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || digits >= rest.size() || *end != ':' || rest.size() - digits - 1 < size)
    return std::nullopt;
  std::string piece(rest.substr(digits + 1, size));
  rest.remove_prefix(digits + 1 + size);
  return piece;
}

std::optional<ListOutput> take_output(std::string_view& rest) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 5; ++i) {
    auto piece = take(rest);
    if (!piece) return std::nullopt;
    pieces.push_back(*std::move(piece));
  }
  ListOutput output;
  output.exit_code = std::atoi(pieces[0].c_str());
  output.stdout_text = std::move(pieces[1]);
  output.file_text = std::move(pieces[2]);
  output.stderr_tail = std::move(pieces[3]);
  for (std::string_view lines = pieces[4]; !lines.empty();) {
    auto line = take(lines);
    if (!line) return std::nullopt;
    output.event_lines.push_back(*std::move(line));
  }
  return output;
}

// ---- The key of a list ----

// Returns "" if the program is searched in PATH, or does not exist.
std::string key_of(const ListCommand& command, const std::string& backend) {
  struct stat program {};
  const auto path = std::filesystem::path(command.directory) / command.argv.front();
  if (command.argv.front().find('/') == std::string::npos || stat(path.c_str(), &program) != 0) return "";
  std::string text = fmt::format("{} {} {} {}.{} {} ", backend, command.host_pids, program.st_size,
                                 program.st_mtim.tv_sec, program.st_mtim.tv_nsec, program.st_ino);
  put(text, command.directory);
  put(text, command.file_option);
  for (const std::string& word : command.argv) put(text, word);
  for (const auto& [name, value] : command.env) put(text, name + "=" + value);
  return sha256_hex(text);
}

// Returns whether the list is complete, and was made with the devices that the suite needs.
bool is_lasting(const ListOutput& output) {
  return output.exit_code && !output.timed_out && !output.stdout_truncated && output.events_too_long == 0 &&
         output.no_device.empty();
}

}  // namespace

KnownListings KnownListings::read(const std::string& file) {
  KnownListings known;
  const auto text = read_regular(file, kMostListedBytes);
  if (!text) return known;
  std::string_view rest = *text;
  if (take(rest) != kVersion) return known;
  while (!rest.empty()) {
    const auto key = take(rest);
    auto output = key ? take_output(rest) : std::nullopt;
    if (!output) return {};
    known.listings_.emplace(*key, *std::move(output));
  }
  return known;
}

Result<ListOutput> KnownListings::find_or(const ListCommand& command, const std::string& backend,
                                          const Run& run) {
  const std::string key = key_of(command, backend);
  if (const auto known = listings_.find(key); known != listings_.end()) return known->second;
  auto output = run();
  if (output && !key.empty() && is_lasting(*output)) listings_.emplace(key, *output);
  return output;
}

Result<void> KnownListings::write(const std::string& file) const {
  std::string text;
  put(text, kVersion);
  for (const auto& [key, output] : listings_) {
    std::string lines;
    for (const std::string& line : output.event_lines) put(lines, line);
    put(text, key);
    for (const std::string& piece :
         {std::to_string(*output.exit_code), output.stdout_text, output.file_text, output.stderr_tail, lines})
      put(text, piece);
  }
  return replace_file(file, text);
}

}  // namespace proctor
