// What a gate keeps of one run: all that its rules ask, and nothing else. The journal is read here as nowhere else: what
// `report` forgives, a line that is no record or a digest that does not fit, is named here and never forgiven.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/journal_chain.h"
#include "harness/core/outcome_meaning.h"
#include "harness/core/result.h"
#include "reports/resolve/resolved_run.h"
#include "reports/render.h"

namespace proctor {

// Why a journal cannot be believed.
struct JournalFlaw {
  int line = 0;  // 0: of no one line
  std::string what{};
  std::string case_id{};  // "": of none
};

// An attempt that a known failure may be about.
struct GateAttempt {
  Verdict verdict{};
  std::vector<std::string> devices{};  // leased ids

  friend bool operator==(const GateAttempt&, const GateAttempt&) = default;
};

// How a case ended, as far as a rule asks. Most of 100,000 cases ended alike, and share one.
struct GateEnd {
  Verdict verdict{};
  GateColour colour = GateColour::kRed;
  std::vector<GateAttempt> telling{};  // flaky: each bad one; else the one that decided, if any
  bool flaky = false;                  // bad first and then good, whatever its marks say
  bool suspect = false;                // bad on one device only
  bool unkillable = false;

  friend bool operator==(const GateEnd&, const GateEnd&) = default;
};

struct GateCase {
  std::string_view id;
  std::uint32_t group;
  const GateEnd& end;
};

// The cases of a run in the order of its plan, in as little memory as they can have.
class GateCases {
 public:
  void add(std::string_view id, std::uint32_t group, GateEnd end);
  std::size_t size() const { return cases_.size(); }

  template <typename Use>
  void for_each(const Use& use) const {
    std::size_t begin = 0;
    for (const Kept& kept : cases_) {
      use(GateCase{std::string_view(ids_).substr(begin, kept.id_ends - begin), kept.group, ends_[kept.end]});
      begin = kept.id_ends;
    }
  }

 private:
  struct Kept {
    std::uint64_t id_ends;
    std::uint32_t group;
    std::uint32_t end;
  };

  std::string ids_;  // one behind the other
  std::vector<Kept> cases_;
  std::vector<GateEnd> ends_;
};

// Milliseconds on the clock of a run.
struct GateSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// On how many attempts a device was, and when, of cases that were executed.
struct DeviceUse {
  int executed = 0;
  std::vector<GateSpan> busy{};
};

// The cases of one suite on one backend.
struct GateGroup {
  std::string suite{};
  std::string backend{};
  bool simulated = false;      // any of its cases
  std::string other_driver{};  // that Level Zero's loader was told to take: "/x.so, by the caller"; ""
  std::map<std::string, DeviceUse> devices{};  // by leased id
};

struct GateProgram {
  std::string suite{};
  std::string backend{};
  std::string sha256{};
  std::string reason{};  // why there is none
};

struct GateReport {
  std::string place{};     // as the user named it: for messages, and never in a verdict
  std::string sha256{};    // of the journal
  RunPlanned plan{};       // without its cases
  std::string finished{};  // "": its runner has not said all
  std::int64_t elapsed_ms = 0;
  std::string cut_short{};  // why it is not whole; ""
  std::vector<JournalFlaw> flaws{};
  std::vector<Warning> warnings{};     // those that a rule reads
  std::vector<DeviceHealth> errors{};  // of devices in the kernel log
  int resets = 0;                      // devices that were reset, lost or drained
  std::vector<GateProgram> programs{};
  std::vector<HardwareEvidence> evidence{};
  std::set<std::string> probed{};          // devices on which the health probe computed and compared
  std::vector<std::string> other_files{};  // of its directory: not what the journal renders to
  std::vector<GateGroup> groups{};
  GateCases cases{};

  // "run 20260131T120000Z-1a2b3c", "shard 2/4 of run ...".
  std::string name() const;
  const GateGroup* group(const std::string& suite, const std::string& backend) const;
  // Of the devices that the attempt had.
  std::vector<std::string> models(const GateAttempt& attempt) const;
};

GateReport gate_report_of(const ResolvedRun& model);

struct StrictJournal {
  ResolvedRun run;
  std::string sha256{};
  std::vector<JournalFlaw> flaws{};
  RenderedFiles rendered{};  // as its runner says behind the end of the run
};

// An error, with its line: a journal that is none, is empty, ends within a record, has a line that is no record or a second
// plan, is of a newer version, or is not what its runner wrote. `place` is for messages. Unless `whole`, what no rule asks is
// left out of the run, which then takes a third of the memory.
Result<StrictJournal> read_strictly(const std::filesystem::path& journal, const std::string& place,
                                    const std::optional<JournalSeal>& seal, bool whole);

// Of a run directory. A report in it has the digest that the journal says, or is what the journal renders to.
Result<GateReport> read_gate_report(const std::filesystem::path& run_dir, const std::string& place,
                                    const std::optional<JournalSeal>& seal = {});

}  // namespace proctor
