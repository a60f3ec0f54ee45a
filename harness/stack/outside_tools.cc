#include "harness/stack/outside_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/base/json.h"
#include "harness/base/outside_program.h"
#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/text.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

Error tool_error(std::string what, std::string hint = {}) {
  return {ErrorKind::kSystem, std::move(what), std::move(hint), 0};
}

// Returns the error output of a failed program, or its exit code.
std::string complaint(const OutsideAnswer& answer, const std::string& program) {
  const std::string_view said = trimmed(answer.errors);
  return said.empty() ? fmt::format("{} exited with {}", program, answer.exit_code) : std::string(said);
}

// Added to curl's own time limit, so that curl can report the timeout first.
constexpr Milliseconds kToSayWhy{5'000};

Error asking(const std::string& url, Error error) {
  if (!is_missing(error)) error.what = fmt::format("ask {}: {}", url, error.what);
  return error;
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
    if (line.starts_with("HTTP/")) value.clear();  // drops the headers of a redirect
    const auto colon = line.find(':');
    if (colon != std::string::npos && lower_case(line.substr(0, colon)) == lower_case(name))
      value = trimmed(std::string_view(line).substr(colon + 1));
  }
  return value;
}

Result<OutsideTools> OutsideTools::open(Limits limits, std::vector<std::string> keyrings) {
  const auto curl = run_outside_program({.argv = {"curl", "--version"}, .package = "curl"});
  if (!curl) return curl.error();
  std::string directory = (fs::temp_directory_path() / "proctor-verify-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return Error::system("make a directory for downloads", errno);
  return OutsideTools(limits, std::move(keyrings), std::move(directory));
}

OutsideTools::OutsideTools(OutsideTools&& other) noexcept
    : limits_(other.limits_), keyrings_(std::move(other.keyrings_)), directory_(std::move(other.directory_)) {
  other.directory_.clear();
}

OutsideTools::~OutsideTools() {
  // A leftover in the directory for temporary files is harmless.
  if (!directory_.empty()) static_cast<void>(remove_tree(directory_));
}

Result<WebAnswer> OutsideTools::get(const std::string& url, const std::vector<std::string>& headers) const {
  return fetch(url, headers, true);
}

Result<WebAnswer> OutsideTools::head(const std::string& url, const std::vector<std::string>& headers) const {
  return fetch(url, headers, false);
}

// The file limit also applies if the server sends no length.
Result<WebAnswer> OutsideTools::fetch(const std::string& url, const std::vector<std::string>& headers,
                                      bool body) const {
  for (const char* name : {"body", "headers"}) {
    if (const auto emptied = write(path(name), ""); !emptied) return emptied.error();
  }
  OutsideProgram curl{
      .argv = {"curl",           "--silent",
               "--show-error",   "--location",
               "--max-redirs",   "5",
               "--proto",        "=http,https",
               "--proto-redir",  "=http,https",
               "--max-time",     fmt::format("{:.3f}", static_cast<double>(limits_.time.count()) / 1000.0),
               "--max-filesize", std::to_string(limits_.bytes),
               "--dump-header",  path("headers"),
               "--output",       path("body"),
               "--write-out",    "%{http_code}"},
      .package = "curl",
      .time = limits_.time + kToSayWhy,
      .file_limit = limits_.bytes};
  if (!body) curl.argv.emplace_back("--head");
  for (const auto& header : headers) curl.argv.insert(curl.argv.end(), {"--header", header});
  curl.argv.insert(curl.argv.end(), {"--", url});
  const auto done = run_outside_program(curl);
  if (!done) return asking(url, done.error());
  if (done->exit_code != 0) return tool_error(fmt::format("ask {}: {}", url, complaint(*done, "curl")));
  WebAnswer answer;
  std::from_chars(done->output.data(), done->output.data() + done->output.size(), answer.status);
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
  fs::remove(path("text"), none);  // gpgv may write no file, and the file of an earlier call must not be read
  OutsideProgram gpgv{.argv = {"gpgv", "--status-fd", "1", "--output", path("text")},
                      .package = "gpgv",
                      .file_limit = limits_.bytes};
  for (const auto& keyring : keyrings_) gpgv.argv.insert(gpgv.argv.end(), {"--keyring", keyring});
  gpgv.argv.push_back(path("signed"));
  const auto done = run_outside_program(gpgv);
  if (!done) return done.error();
  SignedText result;
  std::string unknown;
  bool good = false;  // VALIDSIG also follows expired and revoked keys, GOODSIG does not
  std::istringstream lines(done->output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[GNUPG:] NEWSIG")) good = false;
    if (line.starts_with("[GNUPG:] GOODSIG ")) good = true;
    if (good && line.starts_with("[GNUPG:] VALIDSIG "))
      result.signers.emplace_back(trimmed(std::string_view(line).substr(line.rfind(' ') + 1)));
    if (line.starts_with("[GNUPG:] NO_PUBKEY "))
      unknown += " " + std::string(trimmed(std::string_view(line).substr(19)));
    if (line.starts_with("[GNUPG:] BADSIG "))
      return tool_error("verify the signature: it does not match the text");
  }
  if (!result.signers.empty()) {
    const auto part = read_file(path("text"));
    if (!part) return part.error();
    result.text = *part;
    return result;
  }
  return tool_error(
      unknown.empty() ? "find a valid signature" : "check the signature: no keyring has the key" + unknown,
      "Name the distribution's keyring with --keyring.");
}

Result<std::string> OutsideTools::unpack(const std::string& name, const std::string& bytes) const {
  const std::string tool = name.ends_with(".gz") ? "gzip" : name.ends_with(".xz") ? "xz" : "";
  if (tool.empty()) return bytes;
  const auto done = run_outside_program({.argv = {tool, "-dc"},
                                         .package = tool == "xz" ? "xz-utils" : tool,
                                         .input = bytes,
                                         .time = limits_.time,
                                         .output_limit = limits_.bytes});
  if (!done) return done.error();
  if (done->exit_code != 0) return tool_error(fmt::format("unpack {}: {}", name, complaint(*done, tool)));
  return done->output;
}

std::vector<std::string> keyrings_of_this_system() {
  std::vector<std::string> files;
  for (const char* directory : {"/usr/share/keyrings", "/etc/apt/trusted.gpg.d"}) {
    std::error_code none;  // without keyrings on other systems than Debian
    for (const auto& entry : fs::directory_iterator(directory, none)) {
      if (entry.path().extension() != ".gpg") continue;
      if (entry.path().filename().string().find("-removed-keys") != std::string::npos) continue;
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

const std::vector<std::string> kManifests = {
    "Accept: application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"};

Error registry_error(std::string what) { return {ErrorKind::kSystem, std::move(what), {}, 0}; }

// Returns the value of key="value" in a WWW-Authenticate header.
std::string parameter(const std::string& challenge, const std::string& key) {
  const auto at = challenge.find(key + "=\"");
  if (at == std::string::npos) return {};
  const auto begin = at + key.size() + 2;
  return challenge.substr(begin, challenge.find('"', begin) - begin);
}

Result<std::string> token(const std::string& challenge, const std::string& repository,
                          const OutsideTools& tools) {
  const std::string realm = parameter(challenge, "realm");
  if (!challenge.starts_with("Bearer ") || !(realm.starts_with("https://") || realm.starts_with("http://")))
    return registry_error(fmt::format("log in to the registry: it requires \"{}\"", challenge));
  const auto answer = tools.get(fmt::format("{}?service={}&scope=repository:{}:pull", realm,
                                            parameter(challenge, "service"), repository));
  if (!answer) return answer.error();
  const auto json = parse_json(answer->body);
  for (const char* key : {"token", "access_token"}) {
    if (json.is_object() && json.contains(key) && json[key].is_string()) return json[key].get<std::string>();
  }
  return registry_error(
      fmt::format("log in to the registry: {} returned no token (HTTP {})", realm, answer->status));
}

}  // namespace

ImageName parse_image_name(const std::string& image) {
  const auto colon = image.rfind(':');
  std::string path = image.substr(0, colon);
  ImageName name{"https://registry-1.docker.io", {}, image.substr(colon + 1)};
  const auto slash = path.find('/');
  const std::string first = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string host = first.substr(0, first.find(':'));
  if (first.find_first_of(".:") != std::string::npos || first == "localhost") {
    const bool local = host == "localhost" || host.starts_with("127.");
    name.registry = (local ? "http://" : "https://") + first;
    path = path.substr(slash + 1);
    if (first == "docker.io") name.registry = "https://registry-1.docker.io";
  }
  const bool official =
      name.registry == "https://registry-1.docker.io" && path.find('/') == std::string::npos;
  name.repository = official ? "library/" + path : path;
  return name;
}

Result<std::string> image_digest(const ImageName& image, const std::string& reference,
                                 const OutsideTools& tools) {
  const std::string url = fmt::format("{}/v2/{}/manifests/{}", image.registry, image.repository, reference);
  auto answer = tools.head(url, kManifests);
  if (answer && answer->status == 401) {
    const auto pass = token(answer->header("www-authenticate"), image.repository, tools);
    if (!pass) return pass.error();
    answer = tools.head(url, {kManifests.front(), "Authorization: Bearer " + *pass});
  }
  if (!answer) return answer.error();
  if (answer->status == 404) return std::string();
  const std::string digest = answer->header("docker-content-digest");
  if (answer->status != 200 || digest.empty())
    return registry_error(fmt::format("query {}: HTTP {} without a digest", url, answer->status));
  return digest;
}

}  // namespace proctor
