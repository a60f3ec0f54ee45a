// The outcomes that a case can have (docs/outcomes.md). The runner and every report share this closed set.
//
// An attempt moves through these states. The label of an arrow is the only cause of that step:
//
//   planned --(budget, stop, lost device)--> notrun
//   planned --spawn refused--> error
//   planned --spawned--> running
//   running --exit as its kind expects--> pass | fail | skip      (known failure: xfail | xpass)
//   running --own signal--> crash
//   running --time limit--> timeout
//   running --no output for the stall limit--> stall
//   running --exit without a readable result--> error
//   running --the driver reports the device gone--> device_lost
//   running --runner told to stop, or killed--> notrun(interrupted)
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace proctor {

enum class Outcome {
  kPass,
  kFail,
  kError,
  kTimeout,
  kStall,
  kCrash,
  kDeviceLost,
  kSkip,
  kXfail,
  kXpass,
  kNotrun,
};

inline constexpr std::array kAllOutcomes = {Outcome::kPass,       Outcome::kFail,  Outcome::kError,
                                            Outcome::kTimeout,    Outcome::kStall, Outcome::kCrash,
                                            Outcome::kDeviceLost, Outcome::kSkip,  Outcome::kXfail,
                                            Outcome::kXpass,      Outcome::kNotrun};

// "pass", "device_lost", ... : the spelling in every machine-readable output.
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

// An outcome with its machine-readable reason, e.g. {kCrash, "signal:11"}; printed as `crash(signal:11)`.
struct Verdict {
  Outcome outcome = Outcome::kNotrun;
  std::string reason;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};
std::string to_string(const Verdict& verdict);

// The reason of a timeout or a stall of a case that the machine did not let run.
inline constexpr std::string_view kStarved = "starved";

// Whose problem an outcome is: the first of the four answers that every red gives. blame_of() answers it for
// an attempt without a diagnosis (harness/classify/), because it knows only the outcome.
enum class Blame { kNobody, kCode, kMachine, kSetup };
Blame blame_of(const Verdict& verdict);
std::string_view to_string(Blame blame);
std::optional<Blame> parse_blame(std::string_view text);

// Whether the outcome makes the machine red and not the code. The exit code is then 75: retry elsewhere. False for
// errors that another machine would have as well: a command that is not there, a result that contradicts itself.
bool is_machine_outcome(const Verdict& verdict);

// Of an attempt. True for every outcome except pass, skip, xfail and xpass: only foreign frameworks report an
// xpass, and to them it is none of their failures.
bool is_bad(Outcome outcome);

// Of a case of this kind. An unexpected pass is bad in our own suites, where a list expects each failure.
bool is_bad(Outcome outcome, std::string_view kind);

}  // namespace proctor
