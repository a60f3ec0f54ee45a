#include "harness/stack/outside_tools.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/read_file.h"
#include "harness/core/text.h"
#include "harness/core/words.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr int kNotFound = 127;  // the shell's

struct ToolAnswer {
  int status = 0;
  std::string out{};
};

Result<ToolAnswer> run_tool(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return Error::system("start a shell", errno);
  ToolAnswer answer;
  std::array<char, 65536> buffer{};
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    answer.out.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return answer;
}

Error missing(const std::string& tool, const std::string& package) {
  return Error::usage(fmt::format("find the program {}", tool),
                      fmt::format("Install the package {}.", package));
}

Error tool_error(std::string what, std::string hint = {}) {
  return {ErrorKind::kSystem, std::move(what), std::move(hint), 0};
}

Result<void> write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) return Error::system("write " + path, errno);
  return {};
}

}  // namespace

std::string WebAnswer::header(const std::string& name) const {
  std::istringstream lines(headers);
  std::string value;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("HTTP/")) value.clear();  // the headers before it are a redirect's
    const auto colon = line.find(':');
    if (colon != std::string::npos && lower_case(line.substr(0, colon)) == lower_case(name))
      value = trimmed(std::string_view(line).substr(colon + 1));
  }
  return value;
}

Result<OutsideTools> OutsideTools::open(Limits limits, std::vector<std::string> keyrings) {
  const auto curl = run_tool("command -v curl");
  if (!curl) return curl.error();
  if (curl->status != 0) return missing("curl", "curl");
  std::string directory = (fs::temp_directory_path() / "proctor-verify-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return Error::system("make a directory for downloads", errno);
  return OutsideTools(limits, std::move(keyrings), std::move(directory));
}

OutsideTools::OutsideTools(OutsideTools&& other) noexcept
    : limits_(other.limits_), keyrings_(std::move(other.keyrings_)), directory_(std::move(other.directory_)) {
  other.directory_.clear();
}

OutsideTools::~OutsideTools() {
  std::error_code ignored;  // a leftover in the directory for temporary files harms nobody
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

Result<WebAnswer> OutsideTools::get(const std::string& url, const std::vector<std::string>& headers) const {
  return fetch(url, headers, true);
}

Result<WebAnswer> OutsideTools::head(const std::string& url, const std::vector<std::string>& headers) const {
  return fetch(url, headers, false);
}

// The file limit of the shell holds also where a server does not say how much it is going to send.
Result<WebAnswer> OutsideTools::fetch(const std::string& url, const std::vector<std::string>& headers,
                                      bool body) const {
  for (const char* name : {"body", "headers", "errors"}) {
    if (const auto emptied = write(path(name), ""); !emptied) return emptied.error();
  }
  std::string command = fmt::format(
      "ulimit -f {}; exec curl --silent --show-error --location --max-redirs 5 --proto =http,https "
      "--proto-redir "
      "=http,https --max-time {:.3f} --max-filesize {} --dump-header {} --output {} --write-out "
      "'%{{http_code}}'{}",
      limits_.bytes / 512 + 1, static_cast<double>(limits_.time.count()) / 1000.0, limits_.bytes,
      shell_quote(path("headers")), shell_quote(path("body")), body ? "" : " --head");
  for (const auto& header : headers) command += " --header " + shell_quote(header);
  const auto done = run_tool(command + " -- " + shell_quote(url) + " 2> " + shell_quote(path("errors")));
  if (!done) return done.error();
  if (done->status != 0) {
    const auto errors = read_file(path("errors"));
    return tool_error(
        fmt::format("ask {}: {}", url, errors && !errors->empty() ? trimmed(*errors) : "curl was killed"));
  }
  WebAnswer answer;
  std::from_chars(done->out.data(), done->out.data() + done->out.size(), answer.status);
  const auto head = read_file(path("headers"));
  const auto text = read_file(path("body"));
  if (!head) return head.error();
  if (!text) return text.error();
  answer.headers = *head;
  if (body) answer.body = *text;
  return answer;
}

Result<SignedText> OutsideTools::signed_part(const std::string& text) const {
  if (const auto written = write(path("signed"), text); !written) return written.error();
  std::error_code none;
  fs::remove(path("text"), none);  // what gpgv does not write is not what it wrote last time
  std::string command = "gpgv --status-fd 1 --output " + shell_quote(path("text"));
  for (const auto& keyring : keyrings_) command += " --keyring " + shell_quote(keyring);
  const auto done = run_tool(command + " " + shell_quote(path("signed")) + " 2> /dev/null");
  if (!done) return done.error();
  if (done->status == kNotFound) return missing("gpgv", "gpgv");
  SignedText result;
  std::string unknown;
  bool good = false;  // VALIDSIG follows expired and revoked keys too, GOODSIG does not come before those
  std::istringstream lines(done->out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[GNUPG:] NEWSIG")) good = false;
    if (line.starts_with("[GNUPG:] GOODSIG ")) good = true;
    if (good && line.starts_with("[GNUPG:] VALIDSIG "))
      result.signers.emplace_back(trimmed(std::string_view(line).substr(line.rfind(' ') + 1)));
    if (line.starts_with("[GNUPG:] NO_PUBKEY "))
      unknown += " " + std::string(trimmed(std::string_view(line).substr(19)));
    if (line.starts_with("[GNUPG:] BADSIG "))
      return tool_error("believe the signature: it is not of this text");
  }
  if (!result.signers.empty()) {
    const auto part = read_file(path("text"));
    if (!part) return part.error();
    result.text = *part;
    return result;
  }
  return tool_error(
      unknown.empty() ? "find a good signature" : "check the signature: no keyring has the key" + unknown,
      "Name the distribution's keyring with --keyring.");
}

Result<std::string> OutsideTools::unpack(const std::string& name, const std::string& bytes) const {
  const std::string tool = name.ends_with(".gz") ? "gzip" : name.ends_with(".xz") ? "xz" : "";
  if (tool.empty()) return bytes;
  if (const auto written = write(path("packed"), bytes); !written) return written.error();
  const auto done = run_tool(
      fmt::format("{} -dc {} 2> /dev/null | head -c {}", tool, shell_quote(path("packed")), limits_.bytes));
  if (!done) return done.error();
  if (done->out.empty()) {
    const auto there = run_tool("command -v " + tool);
    if (!there || there->status != 0) return missing(tool, tool == "xz" ? "xz-utils" : "gzip");
    return tool_error("unpack " + name);
  }
  return done->out;
}

std::vector<std::string> keyrings_of_this_system() {
  std::vector<std::string> files;
  for (const char* directory : {"/usr/share/keyrings", "/etc/apt/trusted.gpg.d"}) {
    std::error_code none;  // not a Debian system: no keyrings
    for (const auto& entry : fs::directory_iterator(directory, none)) {
      if (entry.path().extension() != ".gpg") continue;
      if (entry.path().filename().string().find("-removed-keys") != std::string::npos) continue;
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace proctor
