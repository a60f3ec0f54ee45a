// Fuzzes the reader of a history with a damaged SQLite file, and runs every query of `proctor history`. The input is a
// list of changes: two bytes of position and one byte of content each.
#include <fstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/fuzz/fuzz.h"
#include "reports/history/history.h"
#include "reports/history/questions.h"

namespace {

using namespace proctor;

RunResults small_run() {
  RunResults run;
  run.place = "f";
  run.run_id = "r1";
  run.journal_sha256 = std::string(64, 'a');
  run.started = "2026-01-01T00:00:00Z";
  run.complete = true;
  run.variants = {Variant()};
  run.causes = {{"key", "words"}};
  for (const char* id : {"s/a", "s/b", "s/c"}) {
    CaseResult result;
    result.id = id;
    result.verdict = {Outcome::kFail, ""};
    result.result_class = ResultClass::kFailing;
    result.cause = 0;
    run.cases.push_back(std::move(result));
  }
  return run;
}

std::string history_bytes() {
  const TempDir directory;
  const std::string path = directory.path() / "h.sqlite";
  auto history = History::open(path, std::chrono::seconds(1));
  fuzz::check(history.ok());
  const auto added = history->change([&]() -> Result<void> {
    const auto run = history->add(small_run());
    return run ? Result<void>() : run.error();
  });
  fuzz::check(added.ok());
  return read_file_or_empty(path);
}

void ask_all(const std::string& path) {
  auto history = History::open_to_read(path, std::chrono::seconds(0));
  if (!history) return;
  static_cast<void>(history->size());
  static_cast<void>(ask(*history, {.failing = true, .flaky = true, .outcomes = true}));
  const auto runs = history->runs();
  if (!runs) return;
  for (const HistoryRun& run : *runs) static_cast<void>(history->results_of(run));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kWhole = history_bytes();
  std::string bytes = kWhole;
  for (std::size_t i = 0; i + 2 < size; i += 3)
    bytes[(std::size_t{data[i]} << 8 | data[i + 1]) % bytes.size()] = static_cast<char>(data[i + 2]);
  static const TempDir kPlace;  // SQLite needs a file name
  const std::string path = kPlace.path() / "h.sqlite";
  std::ofstream(path, std::ios::binary) << bytes;
  ask_all(path);
  return 0;
}
