// The table of options: each value of a RunRequest has one row. All other lists of options come from these rows: the
// command line (harness/cli/add_options.h), the reader of proctor.toml and its JSON schema
// (harness/plan/config_tables.h), help, man page, completion, and the record for the gate (merge_requests.h).
//
// To add an option or a key, add a member in run_request.h, and a row in options.cc, options_of_cases.cc or
// options_of_devices.cc.
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

// The effect of an option on the cases of a run and on their verdicts. The gate refuses a run that had a kUnrecorded
// option. That is the default, so the gate refuses options whose rows have no effect yet.
enum class GateEffect {
  kUnrecorded,  // it has an effect, and nothing else records it
  kNone,
  kInPlan,      // it has an effect, which changes the digest of a plan
  kInGateRule,  // it has an effect, which a rule of the gate reads from the journal
};

// ---- The type of a value, and its place in a request ----

template <typename T>
using ValuePlace = T& (*)(RunRequest& request);
// The place of a value that has one of several types.
template <typename... T>
using ValuePlaces = std::variant<ValuePlace<T>...>;

struct FlagValue {
  ValuePlaces<bool, std::optional<bool>> of;
};

struct NumberValue {
  ValuePlaces<std::optional<int>> of;
  int least = std::numeric_limits<int>::min();
  int most = std::numeric_limits<int>::max();
  // If set, the option can be a flag and the key a boolean: `true` is this number, `false` is 0.
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
  bool is_path = false;   // as a key: relative to the directory of the configuration file
  std::string if_flag{};  // value of the option without a text; "": a text is required
};

struct TextsValue {
  ValuePlaces<std::vector<std::string>> of;
  // If set, each text has its own effect and its own entry in the record for the gate.
  GateEffect (*effect_of)(std::string_view text) = nullptr;
};

using OptionValue = std::variant<FlagValue, NumberValue, DurationValue, TextValue, TextsValue>;

// ---- The row ----

struct Option {
  std::string name{};  // "--jobs,-j"; "suites": the positional arguments; "": only a key
  OptionValue value;
  std::string placeholder{};  // "N"
  std::string help{};
  unsigned in = 0;             // commands (Command) that have the option
  unsigned short_help = 0;     // commands that show it with -h
  std::string_view heading{};  // heading in the help
  GateEffect effect = GateEffect::kUnrecorded;
  std::string without_effect{};         // value that has no effect
  std::string key{};                    // key of [run]; "": none, for a value that belongs to one run only
  unsigned key_in = kForRun;            // commands to which the key applies
  bool project_only = false;            // the key is refused in the user's own file
  bool in_plan_file = false;            // a plan carries the value
  bool fixed_by_plan = false;           // the option cannot be combined with --plan
  std::vector<std::string> excludes{};  // options that it cannot be combined with

  // Returns the long name: "--jobs" of "--jobs,-j".
  std::string_view long_name() const { return std::string_view(name).substr(0, name.find(',')); }
};

// The headings in the order of the help. Options with kHiddenHeading are not in help, manual or completion.
inline constexpr std::string_view kHiddenHeading = "Hidden";
const std::vector<std::string_view>& option_headings();

// Returns all rows. The rows of one command have different names.
const std::vector<Option>& options();
// Returns the row of this option of the command, or null.
const Option* find_option(std::string_view name, unsigned command = kForRun);
const Option* find_key(std::string_view key);

// ---- One value ----

bool is_given(const Option& option, const RunRequest& request);
// Copies the value from `from` to `to` if it is given.
void take(const Option& option, RunRequest& to, const RunRequest& from);
// Returns the value as a user types it: "" for a flag, several words separated by blanks.
std::string text_of(const Option& option, const RunRequest& request);
// Sets a value from the form of text_of(). The error describes the text: "must be ... (got `x`)".
Result<void> put(const Option& option, const std::string& text, RunRequest& request);

// Check a text as put() does for any option, with the same errors.
Result<int> whole_number(std::string_view text, int least = std::numeric_limits<int>::min(),
                         int most = std::numeric_limits<int>::max());
Result<void> check_choice(std::string_view text, const std::vector<std::string>& choices);

template <typename T>
const T& get(ValuePlace<T> of, const RunRequest& request) {
  return of(const_cast<RunRequest&>(request));  // the value is only read
}

// ---- --flaky ----

// The verdict for cases that failed and then passed.
struct FlakyPolicy {
  bool passes = false;  // they pass if they are within the budget
  int budget = 0;       // percent of the executed cases, at least one case if above 0
};

// Parses "fail" or "pass:2%".
Result<FlakyPolicy> parse_flaky(std::string_view text);
Result<void> check_flaky(std::string_view text);
// Matches every valid text of `--flaky`, for the JSON schema.
inline constexpr std::string_view kFlakyForm = "^(fail|pass:([0-9]|[1-9][0-9]|100)%)$";

// ---- --containment ----

inline constexpr const char* kAnyLayer = "auto";

struct Layers {
  std::optional<Layer> wanted{};    // none: the strongest available layer
  std::optional<Layer> required{};  // none: any; otherwise a weaker layer is an error
};

// Parses a layer, ">=LAYER", "auto", or "" for "auto".
Result<Layers> parse_layers(std::string_view text);
Result<void> check_layers(std::string_view text);

}  // namespace proctor
