#include "reports/gate/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/base/digest.h"
#include "harness/base/narrowing_variables.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

using KeyNames = std::vector<std::string>;

struct KnownTable {
  std::string title;
  KeyNames keys;
};

// Every table of a policy with fixed keys.
const std::vector<KnownTable>& known_tables() {
  static const std::vector<KnownTable> tables = {
      {"the top level", {"version", "gate", "skips", "cell"}},
      {"[gate]",
       {"subject", "clean", "max_age", "hardware", "known_failures", "max_known_failures", "baseline",
        "signed", "flaky", "variables"}},
      {"[gate.flaky]", {"percent"}},
      {"[[cell]]",
       {"name", "suite", "backend", "stack", "device", "devices", "plan", "min_executed", "program",
        "hardware", "soak"}},
      {"`soak` of a [[cell]]", {"device_hours", "resets"}}};
  return tables;
}

const KeyNames& keys_of(const std::string& title) {
  return std::ranges::find(known_tables(), title, &KnownTable::title)->keys;
}

const KeyNames& subject_names() {
  static const KeyNames names = {"commit", "branch", "repository", "build"};
  return names;
}

int line_in_file(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Returns whether the glob matches every text.
bool matches_anything(std::string_view glob) {
  return glob.find_first_not_of("*?") == glob.npos && glob.find('*') != glob.npos;
}

// Reads the tables of a policy into a GatePolicy, and stops at the first mistake.
class PolicyReader {
 public:
  PolicyReader(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  Result<GatePolicy> read() {
    policy_.file = file_;
    if (auto top = open(root_, "the top level")) read_top(*top);
    if (error_) return *error_;
    std::ranges::stable_sort(policy_.relaxations, {}, &GateRelaxation::line);
    return std::move(policy_);
  }

 private:
  // Returns nothing after a mistake. The message about a key of another table names that table.
  std::optional<TableReader> open(const toml::table& table, const std::string& title) {
    if (error_) return std::nullopt;
    const toml::key* first = nullptr;
    for (const auto& [key, value] : table) {
      const bool known = std::ranges::find(keys_of(title), key.str()) != keys_of(title).end();
      if (!known && (first == nullptr || key.source().begin < first->source().begin)) first = &key;
    }
    if (first != nullptr) {
      for (const KnownTable& other : known_tables()) {
        if (std::ranges::find(other.keys, first->str()) == other.keys.end()) continue;
        error_ =
            toml_error(file_, first->source(), fmt::format("unknown key `{}` in {}", first->str(), title),
                       fmt::format("`{}` is a key of {}.", first->str(), other.title));
        return std::nullopt;
      }
    }
    TableReader reader(file_, table, title, keys_of(title));
    close(reader);
    return error_ ? std::nullopt : std::optional(std::move(reader));
  }

  void close(const TableReader& reader) {
    if (!error_ && reader.error()) error_ = reader.error();
  }

  void weaker(const toml::node& node, const std::string& key, const std::string& strict) {
    policy_.relaxations.push_back({key, value_text(node), strict, line_in_file(node)});
  }

  void read_top(TableReader& top) {
    std::optional<int> version;
    top.read("version", version, 1, 1'000'000);
    if (version && *version > kGatePolicyVersion) {
      top.fail("version", fmt::format("the policy has version {}, but this Proctor reads version {}",
                                      *version, kGatePolicyVersion));
    }
    const toml::table* gate = top.table("gate");
    const toml::table* skips = top.table("skips");
    const auto cells = top.tables("cell");
    if (top.node("cell") == nullptr || cells.empty()) {
      top.fail(toml_error(file_, root_.source(), "the policy has no [[cell]], so it requires nothing",
                          "Write a [[cell]] with `suite` and `backend`."));
    }
    close(top);
    if (gate != nullptr) read_gate(*gate);
    if (skips != nullptr) read_skips(*skips);
    for (const toml::table* cell : cells) read_cell(*cell);
  }

  void read_gate(const toml::table& table) {
    auto reader = open(table, "[gate]");
    if (!reader) return;
    read_subject(*reader);
    reader->read("clean", policy_.clean);
    if (!policy_.clean) weaker(*reader->node("clean"), "gate.clean", "true");
    reader->read("hardware", hardware_);
    if (!hardware_) {
      weaker(*reader->node("hardware"), "gate.hardware", "true");
      hardware_line_ = line_in_file(*reader->node("hardware"));
    }
    read_age(*reader);
    read_known_failures(*reader);
    std::optional<std::string> baseline;
    reader->read_choice("baseline", baseline, {"required", "optional"});
    policy_.baseline_required = baseline == "required";
    read_path(*reader, "signed", policy_.signed_digests);
    read_variables(*reader);
    const toml::table* flaky = reader->table("flaky");
    close(*reader);
    if (flaky != nullptr) read_flaky(*flaky);
  }

  void read_subject(TableReader& reader) {
    std::optional<KeyNames> names;
    reader.read("subject", names);
    if (!names) return;
    for (const toml::node& element : *reader.node("subject")->as_array()) {
      const std::string name = element.as_string()->get();
      if (std::ranges::find(subject_names(), name) != subject_names().end()) continue;
      return reader.fail(element, fmt::format("`subject` in [gate] contains \"{}\"", name),
                         suggestion(name, subject_names(), "names"));
    }
    policy_.subject = *names;
    if (std::ranges::find(*names, "commit") == names->end())
      policy_.relaxations.push_back({"gate.subject", fmt::format("[{}]", joined(*names, ", ")),
                                     "[\"commit\"]", line_in_file(*reader.node("subject"))});
  }

  void read_variables(TableReader& reader) {
    std::optional<KeyNames> names;
    reader.read("variables", names);
    if (!names) return;
    for (const toml::node& element : *reader.node("variables")->as_array()) {
      const std::string name = element.as_string()->get();
      if (is_narrowing_variable(name)) continue;
      return reader.fail(element,
                         fmt::format("`variables` in [gate] contains \"{}\", which no rule refuses", name),
                         suggestion(name, narrowing_names(), "names"));
    }
    policy_.variables = *names;
    if (!names->empty())
      policy_.relaxations.push_back({"gate.variables", fmt::format("[{}]", joined(*names, ", ")), "none",
                                     line_in_file(*reader.node("variables"))});
  }

  void read_age(TableReader& reader) {
    std::optional<Milliseconds> age;
    reader.read("max_age", age, /*zero_allowed=*/false);
    if (!age) return;
    policy_.max_age = *age;
    if (*age > kStrictMaxAge) weaker(*reader.node("max_age"), "gate.max_age", "\"72h\"");
  }

  void read_path(TableReader& reader, const char* key, std::string& out) {
    reader.read(key, out);
    if (reader.wanted(key) != nullptr && out.empty())
      reader.fail(key, fmt::format("`{}` names no file", key));
  }

  void read_name(TableReader& reader, const char* key, std::string& out) {
    reader.read(key, out);
    if (reader.wanted(key) != nullptr && out.empty())
      reader.fail(key, fmt::format("`{}` in [[cell]] is empty", key),
                  std::string_view(key) == "suite" ? "Name the suite." : "Leave it out, or give it a value.");
  }

  void read_known_failures(TableReader& reader) {
    read_path(reader, "known_failures", policy_.known_failures);
    if (const toml::node* node = reader.wanted("known_failures"))
      weaker(*node, "gate.known_failures", "no failure is accepted");
    std::optional<int> most;
    reader.read("max_known_failures", most, 0, 1'000'000);
    if (!most) return;
    if (policy_.known_failures.empty()) {
      return reader.fail("max_known_failures", "`max_known_failures` without `known_failures`",
                         "Name the file, or leave the number out.");
    }
    policy_.max_known_failures = *most;
    if (*most > kStrictMaxKnownFailures)
      weaker(*reader.node("max_known_failures"), "gate.max_known_failures",
             std::to_string(kStrictMaxKnownFailures));
  }

  void read_flaky(const toml::table& table) {
    auto reader = open(table, "[gate.flaky]");
    if (!reader) return;
    const toml::node* node = reader->node("percent");
    if (node == nullptr) return;
    const auto percent = node->value<double>();
    if (!node->is_number() || !percent || !(*percent >= 0 && *percent <= 100)) {
      reader->fail("percent",
                   fmt::format("`percent` in [gate.flaky] is {}, but must be a number from 0 to 100",
                               value_text(*node)));
    } else if (*percent > 0 && policy_.known_failures.empty()) {
      reader->fail("percent", "`percent` without `known_failures`: a flaky case must also be a known failure",
                   "Name the file with `known_failures` in [gate].");
    } else if (*percent > 0) {
      policy_.flaky_percent = *percent;
      weaker(*node, "gate.flaky.percent", "0");
    }
    close(*reader);
  }

  void fail(const toml::source_region& where, const std::string& message, const std::string& hint = {}) {
    if (!error_) error_ = toml_error(file_, where, message, hint);
  }

  void read_skips(const toml::table& table) {
    for (const auto& [key, value] : table) {
      const std::string reason(key.str());
      const auto* why = value.as_string();
      if (why == nullptr || trimmed(why->get()).empty()) {
        return fail(value.source(), fmt::format("the skip `{}` has no reason", reason),
                    "Write it as a text: \"needs:devices>=*\" = \"covered by the cell four-cards\".");
      }
      if (matches_anything(reason))
        return fail(key.source(), fmt::format("`{}` in [skips] covers every reason", reason));
      policy_.skips.push_back({reason, why->get(), static_cast<int>(key.source().begin.line)});
    }
    std::ranges::sort(policy_.skips, {}, &GateSkip::line);
    for (const GateSkip& skip : policy_.skips) {
      for (const GateSkip& other : policy_.skips) {
        if (&skip == &other || !glob_match(other.reason, skip.reason)) continue;
        return fail(table.get(skip.reason)->source(),
                    fmt::format("`{}` in [skips] weakens what `{}` weakens already on line {}", skip.reason,
                                other.reason, other.line),
                    "Keep one of them.");
      }
      policy_.relaxations.push_back({fmt::format("skips.\"{}\"", skip.reason), "\"" + skip.why + "\"",
                                     "no skip is accepted", skip.line});
    }
  }

  void read_cell(const toml::table& table) {
    auto reader = open(table, "[[cell]]");
    if (!reader) return;
    GateCell cell;
    cell.line = line_in_file(table);
    for (const char* key : {"suite", "backend"}) reader->require(key);
    reader->read("suite", cell.suite);
    std::optional<std::string> backend;
    reader->read_choice("backend", backend, {"cuda", "xpu", "none"});
    cell.backend = backend.value_or("");
    for (const auto& [key, out] : {std::pair{"name", &cell.name},
                                   {"suite", &cell.suite},
                                   {"stack", &cell.stack},
                                   {"device", &cell.device}}) {
      read_name(*reader, key, *out);
    }
    read_path(*reader, "plan", cell.plan);
    if (!cell.device.empty() && matches_anything(cell.device))
      reader->fail("device", "`device` covers every model", "If any model is allowed, leave it out.");
    read_devices(*reader, cell);
    read_cell_hardware(*reader, cell);
    reader->read("min_executed", cell.min_executed, 1, 100'000'000);
    read_program(*reader, cell);
    if (cell.min_executed)
      weaker(*reader->node("min_executed"), "cell.min_executed", "all that the cell plans");
    const toml::table* soak = reader->table("soak");
    close(*reader);
    if (soak != nullptr) read_soak(*soak, cell);
    add(std::move(cell), table);
  }

  void read_program(TableReader& reader, GateCell& cell) {
    reader.read("program", cell.program);
    if (reader.wanted("program") != nullptr && !is_sha256(cell.program))
      reader.fail("program", fmt::format("`program` is \"{}\", but must be 64 hexadecimal digits, a SHA-256",
                                         cell.program));
  }

  void read_devices(TableReader& reader, GateCell& cell) {
    if (cell.backend == "none") {
      cell.devices = 0;
      for (const char* key : {"device", "devices", "soak"}) {
        if (reader.wanted(key) != nullptr)
          reader.fail(key, fmt::format("`{}` in a cell of the backend none, whose cases get no device", key));
      }
      return;
    }
    reader.read_number("devices", cell.devices, 1, 10'000);
  }

  void read_cell_hardware(TableReader& reader, GateCell& cell) {
    bool said = true;
    reader.read("hardware", said);
    cell.hardware = hardware_ && said;
    const toml::node* node = reader.wanted("hardware");
    if (node != nullptr && said) cell.hardware = true;
    if (node != nullptr && !said && !hardware_) {
      reader.fail("hardware",
                  fmt::format("`hardware` weakens what [gate] weakens already on line {}", hardware_line_),
                  "Keep one of them.");
    } else if (node != nullptr && !said) {
      weaker(*node, "cell.hardware", "true");
    }
    if (cell.backend == "none" && cell.hardware && !reader.error()) {
      reader.fail("backend", "a cell of the backend none has no device, and so no evidence of hardware",
                  "Write hardware = false in the cell.");
    }
  }

  void read_soak(const toml::table& table, GateCell& cell) {
    auto reader = open(table, "`soak` of a [[cell]]");
    if (!reader) return;
    cell.soak.emplace();
    reader->require("device_hours");
    const toml::node* hours = reader->wanted("device_hours");
    if (hours != nullptr) {
      const auto value = hours->value<double>();
      if (!hours->is_number() || !value || !(*value > 0 && *value < 1e6)) {
        reader->fail("device_hours", fmt::format("`device_hours` is {}, but must be a number above zero",
                                                 value_text(*hours)));
      } else {
        cell.soak->device_hours = *value;
      }
    }
    reader->read_number("resets", cell.soak->resets, 0, 1'000'000);
    if (cell.soak->resets > 0) weaker(*reader->node("resets"), "cell.soak.resets", "0");
    close(*reader);
  }

  void add(GateCell cell, const toml::table& table) {
    if (error_) return;
    if (cell.name.empty()) {
      cell.name = cell.backend == "none" ? cell.suite : cell.suite + "." + cell.backend;
      if (!cell.device.empty()) cell.name += " on " + cell.device;
      if (!cell.stack.empty()) cell.name += ", stack " + cell.stack;
    }
    const auto asks_for = [](const GateCell& c) { return std::tie(c.suite, c.backend, c.stack, c.device); };
    for (const GateCell& other : policy_.cells) {
      if (other.name == cell.name || asks_for(other) == asks_for(cell)) {
        return fail(
            table.source(),
            fmt::format("the cell `{}` repeats the cell `{}` of line {}", cell.name, other.name, other.line),
            "Two cells differ in suite, backend, stack or device, and in their names.");
      }
    }
    policy_.cells.push_back(std::move(cell));
  }

  const toml::table& root_;
  const std::string& file_;
  GatePolicy policy_;
  bool hardware_ = true;
  int hardware_line_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<GatePolicy> parse_gate_policy(std::string_view text, const std::string& file) {
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  auto policy = PolicyReader(*root, file).read();
  if (policy) policy->sha256 = sha256_hex(text);
  return policy;
}

}  // namespace proctor
