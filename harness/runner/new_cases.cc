#include "harness/runner/new_cases.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/words.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/program_digests.h"
#include "reports/history/history.h"
#include "reports/resolve/run_resolver.h"
#include "reports/resolve/run_results.h"

namespace proctor::runner {
namespace {

Error refuse_place(const std::string& place, const std::string& why) {
  return Error::refused("--repeat new: " + place + " " + why,
                        "Give the directory of a run, or the file of `proctor history`: new:50=PATH.");
}

// Collects the digests of the programs of this run, by path.
class ProgramsNow : public EventSink {
 public:
  void on(const Event& event) override {
    if (const auto* read = std::get_if<ProgramRead>(&event)) digests_[read->program] = read->sha256;
  }
  const std::string& of(const std::string& program) { return digests_[program]; }

 private:
  std::map<std::string, std::string> digests_;
};

}  // namespace

Result<SeenPrograms> read_seen_programs(const std::string& place) {
  std::error_code error;
  const auto there = std::filesystem::status(place, error);
  if (!std::filesystem::exists(there)) return refuse_place(place, "does not exist");
  if (std::filesystem::is_regular_file(there)) {
    auto history = History::open_to_read(place, kHistoryWait);
    if (!history) return history.error();
    return seen_programs(*history);
  }
  if (!std::filesystem::exists(place + "/journal.jsonl", error))
    return refuse_place(place, "is not a run directory: it has no journal.jsonl");
  const auto run = load_journal(place + "/journal.jsonl", find_journal_seal(place));
  if (!run) return Error::usage_of(run.error());
  return seen_programs(results_of(*run));
}

NewCases new_cases(const Plan& plan, const std::vector<PlannedSuite>& suites, const SeenPrograms& seen) {
  ProgramsNow digests;
  for (ProgramDigests programs(suites); !programs.is_done();) programs.read_piece(digests);
  std::map<std::pair<std::string, std::string>, std::string> program_of;
  for (const PlannedSuite& suite : suites)
    program_of[{suite.name, suite.backend}] = digests.of(suite.program);
  NewCases found;
  for (const Case& test : plan.cases) {
    const Suite& suite = plan.suites[test.suite];
    const Sight sight = seen.of(test.id, program_of[{suite.name, std::string(to_string(suite.backend))}]);
    if (sight == Sight::kSeen) continue;
    found.ids.push_back(test.id);
    ++(sight == Sight::kNew ? found.not_seen : sight == Sight::kChanged ? found.changed : found.unknown);
  }
  return found;
}

std::string to_string(const NewCases& found, std::size_t planned, int times) {
  if (found.ids.empty()) return "all cases were seen with these programs";
  std::vector<std::string> why;
  if (found.not_seen > 0) why.push_back(fmt::format("{} not seen", found.not_seen));
  if (found.changed > 0) why.push_back(fmt::format("{} of a changed program", found.changed));
  if (found.unknown > 0) why.push_back(fmt::format("{} of a program without a digest", found.unknown));
  return fmt::format("{} of {} run at least {} times: {}", found.ids.size(), count_text(planned, "case"),
                     times, joined(why, ", "));
}

}  // namespace proctor::runner
