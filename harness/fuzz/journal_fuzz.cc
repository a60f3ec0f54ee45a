// Fuzzes the readers of a journal in reports, gate and history, and what they derive from it.
#include "harness/fuzz/fuzz.h"
#include "reports/gate/journal_proof.h"
#include "reports/resolve/run_resolver.h"

namespace {

using namespace proctor;

void load(const std::string& text) {
  const fuzz::File file(text);
  const auto model = load_journal(file.path());
  if (!model) return;
  fuzz::check(model->summary.planned() == static_cast<int>(model->cases.size()));
  fuzz::check(model->exit_code != 0 || model->ended);
}

void gate(const std::string& text) {
  const fuzz::File file(text);
  for (const bool whole : {false, true}) static_cast<void>(read_strictly(file.path(), "f", {}, whole));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::give(data, size, {load, gate});
  return 0;
}
