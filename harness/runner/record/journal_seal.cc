#include "harness/runner/record/journal_seal.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

// Below the records, which the next run reads one by one before its first case: seals are kept by the hundred.
constexpr const char* kSealDirectory = "/seals/";
constexpr std::time_t kKeptSeconds = 7 * 24 * 3600;

std::string one_name_of(const std::string& run_dir) {
  std::error_code error;
  const fs::path real = fs::canonical(run_dir, error);
  return error ? "" : real.string();
}

// Of the directory, so that a run cannot choose whose seal is read.
std::string seal_name(const std::string& real_run_dir) {
  return kSealDirectory + sha256_hex(real_run_dir).substr(0, 32);
}

JournalState state_of(const nlohmann::json& json) {
  return {.bytes = json.at(0).get<std::uint64_t>(), .digest = json.at(1).get<std::string>()};
}

std::optional<JournalSeal> parse_seal(const std::string& text, const std::string& real_run_dir) {
  const auto document = parse_json(text);
  try {  // the edge of the JSON library
    const bool ours = document.at("boot_id").get<std::string>() == boot_id() &&
                      document.at("run_dir").get<std::string>() == real_run_dir;
    if (!ours) return std::nullopt;
    return JournalSeal{.before = state_of(document.at("before")),
                       .after = state_of(document.at("after")),
                       .run_id = document.at("run_id").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<JournalSealFile> JournalSealFile::create(const std::string& run_dir, const std::string& run_id) {
  const auto directory = run_record_directory();
  if (!directory) return directory.error();
  const std::string real = one_name_of(run_dir);
  const std::string path = *directory + seal_name(real);
  const bool made = ::mkdir((*directory + kSealDirectory).c_str(), 0700) == 0 || errno == EEXIST;
  if (!made) return Error::system("create " + *directory + kSealDirectory, errno);
  auto fd = create_file(path, 0600);
  if (!fd) return fd.error();
  const std::string head = nlohmann::json{{"boot_id", boot_id()}, {"run_dir", real}, {"run_id", run_id}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return JournalSealFile(*std::move(fd), head.substr(0, head.size() - 1));
}

// Each text is at least as long as the one before: numbers only grow. What a full disk refuses leaves no seal at all.
void JournalSealFile::keep(const JournalSeal& seal) {
  const std::string text =
      fmt::format("{},\"before\":[{},\"{}\"],\"after\":[{},\"{}\"]}}\n", head_, seal.before.bytes,
                  seal.before.digest, seal.after.bytes, seal.after.digest);
  const bool kept = ::pwrite(fd_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!kept) static_cast<void>(!::ftruncate(fd_.get(), 0));
}

std::optional<JournalSeal> find_journal_seal(const std::string& run_dir) {
  const std::string real = one_name_of(run_dir);
  for (const auto& directory : run_record_directories()) {
    const auto text = read_regular(directory + seal_name(real), kMostRecord);
    if (!text) continue;
    if (auto seal = parse_seal(*text, real)) return seal;
  }
  return std::nullopt;
}

void remove_old_journal_seals() {
  const std::time_t now = std::time(nullptr);
  for (const auto& directory : run_record_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory + kSealDirectory, ignored)) {
      struct stat info {};
      if (::stat(entry.path().c_str(), &info) == 0 && now - info.st_mtime > kKeptSeconds)
        ::unlink(entry.path().c_str());
    }
  }
}

}  // namespace proctor
