#include "harness/stack/image_registry.h"

#include <fmt/format.h>

#include "harness/base/json.h"

namespace proctor {
namespace {

const std::vector<std::string> kManifests = {
    "Accept: application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"};

Error registry_error(std::string what) { return {ErrorKind::kSystem, std::move(what), {}, 0}; }

// key="value" of a WWW-Authenticate header
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
    return registry_error(fmt::format("log in to the registry: it asks for \"{}\"", challenge));
  const auto answer = tools.get(fmt::format("{}?service={}&scope=repository:{}:pull", realm,
                                            parameter(challenge, "service"), repository));
  if (!answer) return answer.error();
  const auto json = parse_json(answer->body);
  for (const char* key : {"token", "access_token"}) {
    if (json.is_object() && json.contains(key) && json[key].is_string()) return json[key].get<std::string>();
  }
  return registry_error(
      fmt::format("log in to the registry: {} gave no token (HTTP {})", realm, answer->status));
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
    return registry_error(fmt::format("ask {}: HTTP {} without a digest", url, answer->status));
  return digest;
}

}  // namespace proctor
