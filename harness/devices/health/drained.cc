#include "harness/devices/health/drained.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "harness/base/clock.h"
#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/surroundings.h"
#include "harness/base/text.h"
#include "harness/base/unique_fd.h"
#include "harness/base/user_name.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr const char* kSuffix = ".drained";
constexpr mode_t kReadable = 0644;
constexpr off_t kMostBytes = 64 * 1024;
constexpr std::size_t kLongestReason = 200;  // any user may have written the text

std::string text_of(const DrainedDevice& drained) {
  return json{{"format", 1},
              {"device", drained.device},
              {"reason", drained.reason},
              {"evidence", drained.evidence},
              {"since", drained.since},
              {"run", drained.run},
              {"uid", drained.uid}}
             .dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

// Opens a file of another user so that it can neither redirect nor block the reader.
DrainedDevice read_drained(const std::string& path, const std::string& device) {
  DrainedDevice unreadable{
      .device = device, .reason = "unreadable", .evidence = path + " is not a record of a drained device"};
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0) return unreadable;
  unreadable.uid = info.st_uid;
  if (!S_ISREG(info.st_mode) || info.st_size > kMostBytes) return unreadable;
  const auto text = read_file("/proc/self/fd/" + std::to_string(fd.get()));
  const json document = text ? parse_json(*text) : json();
  try {  // nlohmann::json throws
    DrainedDevice drained{.device = document.at("device"),
                          .reason = document.at("reason"),
                          .evidence = document.at("evidence"),
                          .since = document.at("since"),
                          .run = document.at("run"),
                          .uid = info.st_uid};  // the uid in the file itself is not trustworthy
    return drained.device == device ? drained : unreadable;
  } catch (const json::exception&) {
    return unreadable;
  }
}

}  // namespace

std::string describe(const DrainedDevice& drained) {
  const std::string who = user_name(drained.uid);
  return fmt::format("{} is drained since {} ({}, by {}): {}", drained.device,
                     drained.since.empty() ? "an unknown time" : drained.since, drained.reason,
                     drained.run.empty() ? who : fmt::format("run {} of {}", drained.run, who),
                     drained.evidence);
}

std::string node_reason(const std::vector<DrainedDevice>& drained) {
  std::string text = kNodeReason;
  for (const DrainedDevice& device : drained)
    text += fmt::format("{}{} {}", text == kNodeReason ? "" : ", ", device.device, device.reason);
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason - 3) + "...";
  return text;
}

std::string slurm_drain_line(const std::vector<DrainedDevice>& drained) {
  const std::string node = own_slurm_node();
  if (drained.empty() || node.empty()) return {};
  std::string line;
  for (const std::string& word : slurm_drain_command(node, node_reason(drained)))
    line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

std::string DrainList::path_of(std::string device) const {
  std::replace(device.begin(), device.end(), '/', '_');
  return path_ + "/" + device + kSuffix;
}

// Writes a temporary file and links it into place. Readers thus never see a partial record, and the first
// reason stays.
Result<void> DrainList::drain(DrainedDevice drained) const {
  drained.since = utc_now();
  drained.uid = getuid();
  const std::string path = path_of(drained.device);
  std::string draft = path + ".XXXXXX";
  const UniqueFd fd(mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) return Error::system("make a file beside " + path, errno);
  const std::string text = text_of(drained);
  const bool written = write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fchmod(fd.get(), kReadable) == 0;
  const int write_error = errno;
  const bool linked = written && link(draft.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  unlink(draft.c_str());
  if (!written) return Error::system("write " + draft, write_error);
  if (!linked && link_error != EEXIST) return Error::system("make " + path, link_error);
  return {};
}

// The sticky bit of the directory protects the files of other users.
Result<bool> DrainList::undrain(const std::string& device) const {
  const auto drained = find(device);
  if (unlink(path_of(device).c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  const int err = errno;
  if (drained && (err == EPERM || err == EACCES)) {
    Error error = Error::system(fmt::format("undrain {}: {}", device, describe(*drained)), err);
    error.hint = fmt::format("Only {}, or root, can undrain it.", user_name(drained->uid));
    return error;
  }
  return Error::system("remove " + path_of(device), err);
}

std::optional<DrainedDevice> DrainList::find(const std::string& device) const {
  const std::string path = path_of(device);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  return read_drained(path, device);
}

std::vector<DrainedDevice> DrainList::list() const {
  std::vector<DrainedDevice> drained;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(path_, ignored)) {
    if (file.path().extension() == kSuffix)
      drained.push_back(read_drained(file.path(), file.path().stem().string()));
  }
  std::sort(drained.begin(), drained.end(),
            [](const DrainedDevice& a, const DrainedDevice& b) { return a.device < b.device; });
  return drained;
}

}  // namespace proctor
