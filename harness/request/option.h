// The table of options: each value of a RunRequest has one row. The command line (harness/cli/add_options.h), the reader of
// proctor.toml and its JSON schema (harness/plan/config_tables.h), help, man page, completion, and the record for the gate
// (merge.h) are made of the rows. To add an option or a key: a member in run_request.h, and a row in options.cc,
// options_of_cases.cc or options_of_devices.cc.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/containment_layer.h"
#include "harness/request/run_request.h"

namespace proctor {

// The effect of an option on the cases of a run, and on how they are judged. The gate refuses a run that had an unrecorded
// option, so it refuses an option whose row has no effect yet.
enum class GateEffect {
  kUnrecorded,  // something, and nothing else records it
  kNone,
  kInPlan,      // something, and the digest of a plan changes
  kInGateRule,  // something, and a rule of the gate reads what the journal has of it
};

// ---- The type of a value, and where it is ----

template <typename T>
using ValuePlace = T& (*)(RunRequest& request);
// The place of a value, which has one of these types.
template <typename... T>
using ValuePlaces = std::variant<ValuePlace<T>...>;

struct FlagValue {
  ValuePlaces<bool, std::optional<bool>> of;
};

struct NumberValue {
  ValuePlaces<std::optional<int>> of;
  int least = std::numeric_limits<int>::min();
  int most = std::numeric_limits<int>::max();
  // The option can be a flag, and the key a boolean: `true` is this number, and `false` is 0.
  std::optional<int> if_flag{};
};

struct DurationValue {
  ValuePlaces<std::optional<Milliseconds>> of;
  bool zero_allowed = true;
};

struct TextValue {
  ValuePlaces<std::string, std::optional<std::string>> of;
  std::vector<std::string> choices{};                      // empty: any text
  Result<void> (*check)(std::string_view text) = nullptr;  // its error describes the text
  std::string form{};     // regular expression of valid texts, for the JSON schema
  bool is_path = false;   // as a key: relative to the directory of the file
  std::string if_flag{};  // the option can be a flag, which has this text
};

struct TextsValue {
  ValuePlaces<std::vector<std::string>> of;
  // Each text has an effect of its own, and an entry of its own in the record.
  GateEffect (*effect_of)(std::string_view text) = nullptr;
};

using OptionValue = std::variant<FlagValue, NumberValue, DurationValue, TextValue, TextsValue>;

// ---- The row ----

struct Option {
  std::string name{};  // "--jobs,-j"; "suites": the positional words; "": a key alone
  OptionValue value;
  std::string placeholder{};  // "N"
  std::string help{};
  unsigned in = 0;             // commands (Command) that have the option
  unsigned short_help = 0;     // commands that show it with -h
  std::string_view heading{};  // of the help
  GateEffect effect = GateEffect::kUnrecorded;
  std::string without_effect{};         // a value that does nothing
  std::string key{};                    // of [run]; "": none, as the run of one file is not that of the next
  unsigned key_in = kForRun;            // commands for which the key counts
  bool project_only = false;            // the key is refused in the user's own file
  bool in_plan_file = false;            // a plan carries the value
  bool fixed_by_plan = false;           // the option cannot be combined with --plan
  std::vector<std::string> excludes{};  // other options

  // "--jobs"
  std::string_view long_name() const { return std::string_view(name).substr(0, name.find(',')); }
};

// The headings of the help, in its order. Options below kHiddenHeading are in no help, manual or completion.
inline constexpr std::string_view kHiddenHeading = "Hidden";
const std::vector<std::string_view>& option_headings();

// Returns all rows. Rows of one command have different names.
const std::vector<Option>& options();
// Returns the row of this option of the command, or null.
const Option* find_option(std::string_view name, unsigned command = kForRun);
const Option* find_key(std::string_view key);

// ---- One value ----

bool is_given(const Option& option, const RunRequest& request);
// Copies the value if it is given in `from`.
void take(const Option& option, RunRequest& to, const RunRequest& from);
// Returns the value as a person writes it: "" for a flag, words separated by blanks.
std::string text_of(const Option& option, const RunRequest& request);
// Sets a value of one text, from the form of text_of(). The error describes the text: "must be ... (got `x`)".
Result<void> put(const Option& option, const std::string& text, RunRequest& request);

// What the text of any option is checked for, with the same errors.
Result<int> whole_number(std::string_view text, int least = std::numeric_limits<int>::min(),
                         int most = std::numeric_limits<int>::max());
Result<void> check_choice(std::string_view text, const std::vector<std::string>& choices);

template <typename T>
const T& get(ValuePlace<T> of, const RunRequest& request) {
  return of(const_cast<RunRequest&>(request));  // the reference is read alone
}

// ---- --flaky ----

// How a run judges cases that failed and then passed.
struct FlakyPolicy {
  bool passes = false;  // within the budget
  int budget = 0;       // percent of the executed cases, and above 0 at least one case
};

// "fail", or "pass:2%".
Result<FlakyPolicy> parse_flaky(std::string_view text);
Result<void> check_flaky(std::string_view text);
// The regular expression matches every valid text.
inline constexpr std::string_view kFlakyForm = "^(fail|pass:([0-9]|[1-9][0-9]|100)%)$";

// ---- --containment ----

inline constexpr const char* kAnyLayer = "auto";

struct Layers {
  std::optional<Layer> wanted{};    // none: the best one
  std::optional<Layer> required{};  // nothing weaker
};

// A layer, ">=LAYER", or "auto" and "", which are the same.
Result<Layers> parse_layers(std::string_view text);
Result<void> check_layers(std::string_view text);

}  // namespace proctor
