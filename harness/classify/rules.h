// The rules of the classifier, from one embedded TOML file (rules.toml), in order of priority.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"

namespace proctor {

// A pattern for one line: literal pieces in a fixed order, with `*` for any text between them.
//
//   `^` first, `$` last   the line begins, or ends, here (blanks around the line do not count)
//
// If the pattern begins or ends with a letter, a digit or `_`, it matches only at a word boundary: `cudaErrorAssert`
// does not match `cudaErrorAssertNot`. Pieces are found from left to right without backtracking, so the time is linear
// in the length of the line.
class Pattern {
 public:
  explicit Pattern(std::string_view text);

  bool matches(std::string_view line) const;

  // Returns the longest piece. A line without it does not match.
  std::string_view anchor() const;

 private:
  std::vector<std::string> pieces_;
  bool at_begin_ = false;
  bool at_end_ = false;
};

// The source that a rule searches.
enum class Where {
  kSignal,     // end of the process: `crash(signal:9)`, `fail(exit:137)`
  kKernelLog,  // lines of the attempt's time window that name one of its devices
  kCode,       // failures and output of the case, for names and numbers of error codes
  kOutput,     // failures and output of the case, for prose
  kOutcome,    // the outcome, if no other source has a match
};
std::string_view to_string(Where where);

struct Rule {
  std::string id;  // "xid:79"
  Where where = Where::kOutput;
  std::vector<Pattern> patterns;  // one of them must match
  // A rule of kSignal also requires that one of these matches the kernel log of the window.
  std::vector<Pattern> kernel;
  std::string vendor;       // "nvidia", "intel" or "any"
  std::string error_class;  // "device_lost", "oom_device", ...
  Gravity severity = Gravity::kError;
  FailureOwner problem = FailureOwner::kCode;
  std::string next;                // one sentence for an engineer
  std::string source;              // public URL or document
  bool any_device = false;         // kKernelLog: lines that name no device count too
  bool fits = false;               // the line must show that more memory was free than requested
  std::optional<Verdict> becomes;  // replaces the outcome of a failed attempt
};

using RuleSet = std::vector<Rule>;

std::string_view embedded_rules();
Result<RuleSet> parse_rules(std::string_view text);
// Returns the embedded rules, parsed at the first call.
const RuleSet& rules();

// Returns the rule with this id, or null.
const Rule* find_rule(const RuleSet& rules, std::string_view id);

}  // namespace proctor
