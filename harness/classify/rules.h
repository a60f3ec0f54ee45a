// The rules of the classifier: one embedded TOML file (rules.toml), in the order of judgement.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"

namespace proctor {

// What a rule looks for in one line: literal pieces in a fixed order, with `*` for anything in between.
//
//   `^` first, `$` last   the line begins, or ends, here (blanks around the line do not count)
//
// A piece that begins or ends the pattern with a letter, a digit or `_` does so at a word's edge:
// `cudaErrorAssert` is not in `cudaErrorAssertNot`. Matching is linear in the line, whatever the line is:
// pieces are found from left to right and never looked for again.
class Pattern {
 public:
  explicit Pattern(std::string_view text);

  bool matches(std::string_view line) const;

  // The longest piece: a line without it does not match.
  std::string_view anchor() const;

 private:
  std::vector<std::string> pieces_;
  bool at_begin_ = false;
  bool at_end_ = false;
};

enum class Where {
  kSignal,     // how the process ended: `crash(signal:9)`, `fail(exit:137)`
  kKernelLog,  // lines of the attempt's time window that name one of its devices
  kCode,       // what the case said, for the names and numbers of error codes
  kOutput,     // what the case said, for prose
  kOutcome,    // the outcome, when nothing else says why
};
std::string_view to_string(Where where);

struct Rule {
  std::string id;  // "xid:79"
  Where where = Where::kOutput;
  std::vector<Pattern> patterns;  // one of them
  // A rule of kSignal counts only if one of these is in the kernel log of the window, too.
  std::vector<Pattern> kernel;
  std::string vendor;       // "nvidia", "intel" or "any"
  std::string error_class;  // "device_lost", "oom_device", ...
  Gravity severity = Gravity::kError;
  FailureOwner problem = FailureOwner::kCode;
  std::string next;                // one sentence for an engineer
  std::string source;              // public URL or document
  bool any_device = false;         // kKernelLog: also when the line names no device
  bool fits = false;               // only if the line says that more memory was free than was requested
  std::optional<Verdict> becomes;  // what a bad attempt's outcome becomes
};

using RuleSet = std::vector<Rule>;

std::string_view embedded_rules();
Result<RuleSet> parse_rules(std::string_view text);
// The embedded ones, read once.
const RuleSet& rules();

// The rule with this id, or null.
const Rule* find_rule(const RuleSet& rules, std::string_view id);

}  // namespace proctor
