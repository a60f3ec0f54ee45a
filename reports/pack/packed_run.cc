#include "reports/pack/packed_run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/read_file.h"
#include "harness/base/regular_file.h"
#include "harness/base/replace_file.h"
#include "harness/base/words.h"
#include "harness/journal/journal_chain.h"
#include "reports/pack/tar_gz.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = "journal.jsonl";

// ---- Packing ----

// Adds the words of the journal's own language, so that a user named `gate` does not change a severity.
void add_words_of(const nlohmann::json& record, std::set<std::string>& words) {
  for (const char* key : {"type", "severity", "outcome", "reason", "cause", "mark", "kind", "framework",
                          "code", "layer", "when", "status", "backend"}) {
    const auto member = record.find(key);
    if (member != record.end() && member->is_string()) words.insert(member->get<std::string>());
  }
  for (const auto& part : record)
    if (part.is_structured()) add_words_of(part, words);
}

// Removes the members of the first record that describe the caller and not the machine.
void forget_caller(nlohmann::json& plan) {
  plan["hostname"] = "HOST";
  plan["subject"] = nlohmann::json::object();
  for (const char* key : {"command_line_bytes", "directory_bytes"}) plan.erase(key);
  const auto narrowed = plan.find("restrictions");
  if (narrowed != plan.end() && narrowed->is_object()) narrowed->erase("variables");
}

std::string hidden_journal(std::string_view text, PrivateText& names) {
  JournalChain chain;
  std::string out;
  for (const std::string_view line : lines_of(text)) {
    nlohmann::json record = parse_json(line);
    if (!record.is_object()) continue;  // the runner ended while it wrote the line
    record.erase("sum");
    if (record.value("type", "") == "run_planned") forget_caller(record);
    names.hide_in(record);
    out += chain.append(record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return out;
}

// Returns the last kMostPackedFile bytes.
Result<std::string> end_of_file(const std::string& path) {
  const auto fd = open_regular(path, kAnySize);
  if (!fd) return fd.error();
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) return Error::system("read " + path, errno);
  const off_t left_out = info.st_size - static_cast<off_t>(kMostPackedFile);
  if (left_out <= 0) return read_rest(fd->get(), path, kMostPackedFile);
  if (::lseek(fd->get(), left_out, SEEK_SET) < 0) return Error::system("read " + path, errno);
  const auto text = read_rest(fd->get(), path, kMostPackedFile);
  return text ? fmt::format("[proctor: the first {} bytes were not packed]\n{}", left_out, *text) : text;
}

std::string hidden_json(std::string_view text, PrivateText& names) {
  nlohmann::json document = parse_json(text);
  if (document.is_discarded()) return names.hide(text);
  if (document.is_object() && document.contains("devices")) {
    for (auto& device : document["devices"])
      if (device.is_object()) device.erase("held_by");
  }
  names.hide_in(document);
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string hidden(std::string_view name, std::string_view text, PrivateText& names) {
  if (name.ends_with(".json")) return hidden_json(text, names);
  return names.hide(name == kPackedKernelLog ? graphics_lines(text) : text);
}

bool is_quiet(const ResolvedCase& test) {
  const Outcome outcome = test.verdict.outcome;
  return (outcome == Outcome::kPass || outcome == Outcome::kSkip) && test.marks.empty();
}

// Returns each log and each file of evidence of a case that did not simply pass or skip, once.
std::set<std::string> files_of_cases(const ResolvedRun& run) {
  std::set<std::string> files;
  for (const ResolvedCase& test : run.cases) {
    if (is_quiet(test)) continue;
    for (const Attempt& attempt : test.attempts) {
      files.insert(attempt.start.log);
      if (!attempt.end) continue;
      files.insert(attempt.end->evidence.file);
      for (const RankEnd& rank : attempt.end->ranks) files.insert(rank.log);
    }
  }
  std::erase_if(files, [](const std::string& file) { return !is_archive_name(file); });
  return files;
}

// Returns "Intel_Arc_B580_Graphics" for "Intel(R) Arc(TM) B580 Graphics".
std::string file_word(std::string text) {
  for (const std::string_view mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.erase(at, mark.size());
  }
  std::string word;
  for (const char c : text) {
    const bool is_kept =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
    if (is_kept) word += c;
    if (!is_kept && !word.empty() && word.back() != '_') word += '_';
  }
  while (word.ends_with('_')) word.pop_back();
  return word;
}

std::string name_of(const RunPlanned& plan) {
  const std::string backend = plan.devices.empty() ? "none" : plan.devices.front().backend;
  const std::string device = plan.devices.empty() ? "" : file_word(plan.devices.front().name);
  const auto driver =
      std::ranges::find(plan.stack, backend + ".driver", &std::pair<std::string, std::string>::first);
  const std::string version = driver == plan.stack.end() ? "" : file_word(driver->second);
  std::string day = plan.started.substr(0, plan.started.find('T'));
  std::erase(day, '-');
  return fmt::format("proctor-{}-{}-{}-{}", backend, device.empty() ? "unknown" : device,
                     version.empty() ? "unknown" : version, file_word(day));
}

// ---- Unpacking ----

// Returns the directory in the archive that contains the journal, with its slash.
std::optional<std::string> root_of(const std::vector<ArchivedFile>& files) {
  std::optional<std::string> root;
  for (const ArchivedFile& file : files) {
    const fs::path path(file.name);
    if (path.filename() != kJournal) continue;
    const std::string parent = path.has_parent_path() ? path.parent_path().string() + "/" : "";
    if (!root || parent.size() < root->size()) root = parent;
  }
  return root;
}

Result<void> check_place(const std::string& directory, const ArchivedFile& journal) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Error::system("make " + directory, error.value());
  if (fs::is_empty(directory, error)) return check_owner_of(directory);
  const auto there = read_regular(directory + "/" + std::string(kJournal), kMostPackedRun);
  if (!there || *there != journal.text)
    return Error::refused(directory + " is not empty", "Give another directory with --out.");
  return check_owner_of(directory);
}

}  // namespace

void add_names_of(const ResolvedRun& run, const std::string& run_dir, PrivateNames& names) {
  const RunPlanned& plan = run.plan;
  names.hosts.push_back(plan.hostname);
  std::string directory = fs::absolute(run_dir).lexically_normal().string();
  if (directory.ends_with('/')) directory.pop_back();
  names.directories.emplace_back(std::move(directory), "RUN");
  names.directories.emplace_back(plan.directory, "DIRECTORY");
  for (const Outcome outcome : kAllOutcomes) names.words.emplace(to_string(outcome));
  names.words.insert({"root", "localhost", "HOST", "USER", "xpu", "cuda", "none", "proctor"});
  for (const ResolvedCase& test : run.cases) {
    std::string word;
    for (const char c : test.planned.id + "/") {
      const bool is_letter =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (is_letter) word += c;
      if (!is_letter && !word.empty()) names.words.insert(std::exchange(word, {}));
    }
  }
}

Result<PackedRun> pack_run(const ResolvedRun& run, const std::string& run_dir, PrivateNames names) {
  const auto written = read_regular(run_dir + "/" + std::string(kJournal), kMostPackedRun);
  if (!written) return written.error();
  add_names_of(run, run_dir, names);
  for (const std::string_view line : lines_of(*written)) add_words_of(parse_json(line), names.words);
  PrivateText text(std::move(names));
  std::string journal = hidden_journal(*written, text);
  const std::string name = text.hide(name_of(run.plan));
  std::size_t bytes = journal.size();
  std::vector<ArchivedFile> files = {{name + "/" + std::string(kJournal), std::move(journal)}};
  const std::set<std::string> of_cases = files_of_cases(run);
  std::vector<std::string> others(kPackedFacts.begin(), kPackedFacts.end());
  others.insert(others.end(), of_cases.begin(), of_cases.end());
  for (const std::string& other : others) {
    const auto content = end_of_file(run_dir + "/" + other);
    if (!content) continue;  // not written, or removed since
    const bool fits = bytes + content->size() <= kMostPackedRun;
    if (fits) bytes += content->size();
    files.push_back(
        {name + "/" + other, fits ? hidden(other, *content, text)
                                  : fmt::format("[proctor: {} bytes were not packed]\n", content->size())});
  }
  std::string packed = write_tar_gz(files, unix_ms(run.plan.started) / 1000);
  if (packed.size() > kMostPackedArchive)
    return Error::refused(fmt::format("the run has {} bytes as one file, and at most {} can be read",
                                      packed.size(), kMostPackedArchive));
  return PackedRun{name + std::string(kPackedEnding), std::move(packed)};
}

bool is_packed_run(const std::string& place) {
  std::error_code error;
  return place.ends_with(kPackedEnding) && !fs::is_directory(place, error);
}

Result<void> unpack_run(const std::string& archive, const std::string& directory) {
  const auto bytes = read_file(archive, kMostPackedArchive);
  if (!bytes) return Error::usage_of(bytes.error());
  const auto files = read_tar_gz(*bytes);
  if (!files) return Error::refused(archive + " is not a packed run: " + files.error().what);
  const auto root = root_of(*files);
  if (!root) return Error::refused(archive + " is not a packed run: it contains no journal.jsonl");
  const auto journal = std::ranges::find(*files, *root + std::string(kJournal), &ArchivedFile::name);
  if (auto place = check_place(directory, *journal); !place) return place;
  for (const ArchivedFile& file : *files) {
    if (!file.name.starts_with(*root)) continue;
    const std::string name = file.name.substr(root->size());
    if (auto made = make_way(directory, name); !made) return made;
    if (auto written = write_new_file(directory + "/" + name, file.text); !written) return written;
  }
  return {};
}

}  // namespace proctor
