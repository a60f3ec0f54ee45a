#include "reports/accept/expected_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"

namespace proctor {
namespace {

enum class Form { kNumber, kFlag, kText };
// A key of the file, and the form of its value.
struct FactKey {
  const char* key;
  Form form;
};
constexpr FactKey kFactKeys[] = {
    {"pcie_width", Form::kNumber},    {"pcie_generation", Form::kNumber}, {"links", Form::kNumber},
    {"clock_max_mhz", Form::kNumber}, {"power_limit_w", Form::kNumber},   {"ecc", Form::kFlag},
    {"persistence", Form::kFlag},     {"firmware", Form::kText},
};

std::vector<std::string> keys_of_model() {
  std::vector<std::string> keys = {"name", "count", "uuids", "floor"};
  for (const FactKey& fact : kFactKeys) keys.emplace_back(fact.key);
  return keys;
}

// Reads a number, a boolean or a text, depending on the form of the fact.
void read_fact(TableReader& reader, const FactKey& fact, ExpectedModel& model) {
  const toml::node* node = reader.wanted(fact.key);
  if (node == nullptr) return;
  if (fact.form == Form::kNumber && node->is_integer()) {
    model.facts[fact.key] = *node->value<std::int64_t>();
  } else if (fact.form == Form::kNumber && node->is_floating_point()) {
    model.facts[fact.key] = *node->value<double>();
  } else if (fact.form == Form::kFlag && node->is_boolean()) {
    model.facts[fact.key] = *node->value<bool>();
  } else if (fact.form == Form::kText && node->is_string()) {
    model.facts[fact.key] = *node->value<std::string>();
  } else {
    const char* form = fact.form == Form::kNumber ? "a number"
                       : fact.form == Form::kFlag ? "true or false"
                                                  : "a text";
    reader.fail(fact.key, fmt::format("`{}` must be {} (got {})", fact.key, form, value_text(*node)));
  }
}

void read_floors(TableReader& reader, ExpectedModel& model) {
  const toml::table* floors = reader.table("floor");
  if (floors == nullptr) return;
  for (const auto& [key, node] : *floors) {
    const auto value = node.value<double>();
    if (!value || *value <= 0) {
      reader.fail(node, fmt::format("the floor of `{}` must be a number above 0 (got {})", key.str(),
                                    value_text(node)));
      return;
    }
    model.floors[std::string(key.str())] = *value;
  }
}

Result<ExpectedModel> read_model(const toml::table& table, const std::string& file) {
  ExpectedModel model;
  TableReader reader(file, table, "[[model]]", keys_of_model());
  reader.require({"name", "count"});
  reader.read("name", model.name);
  reader.read_number("count", model.count, 1, 1024);
  std::optional<std::vector<std::string>> uuids;
  reader.read("uuids", uuids);
  if (uuids) model.uuids = *uuids;
  for (const FactKey& fact : kFactKeys) read_fact(reader, fact, model);
  read_floors(reader, model);
  if (!reader.error() && static_cast<int>(model.uuids.size()) > model.count)
    reader.fail("uuids", fmt::format("{} UUIDs contradict `count = {}`", model.uuids.size(), model.count));
  std::vector<std::string> sorted = model.uuids;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); !reader.error() && twice != sorted.end())
    reader.fail("uuids", fmt::format("`{}` is named twice", *twice));
  if (reader.error()) return *reader.error();
  return model;
}

// Returns the value of a fact if all devices of the model report the same value; otherwise null.
const nlohmann::json* common_fact(const std::vector<const PlannedDevice*>& devices, const FactsOfCards& facts,
                                  const std::string& key) {
  const nlohmann::json* common = nullptr;
  for (const PlannedDevice* device : devices) {
    const auto reported = facts.find(device->id);
    const nlohmann::json* value = reported == facts.end() ? nullptr : reported->second.find(key);
    if (value == nullptr || (common != nullptr && *common != *value)) return nullptr;
    common = value;
  }
  return common;
}

std::string toml_value(const nlohmann::json& value) {
  return value.is_string() ? toml_text(clean_text(value.get<std::string>())) : value.dump();
}

}  // namespace

const ExpectedModel* ExpectedMachine::find(std::string_view name) const {
  const auto found = std::ranges::find(models, name, &ExpectedModel::name);
  return found == models.end() ? nullptr : &*found;
}

Result<ExpectedMachine> parse_expected(std::string_view text, const std::string& file) {
  const auto document = parse_toml(text, file);
  if (!document) return document.error();
  TableReader reader(file, *document, "the file", {"model"});
  ExpectedMachine machine{.file = file, .models = {}};
  for (const toml::table* table : reader.tables("model")) {
    auto model = read_model(*table, file);
    if (!model) return model.error();
    if (machine.find(model->name) != nullptr) {
      return toml_error(file, table->source(), fmt::format("a second table of `{}`", model->name),
                        "Write one [[model]] for each model.");
    }
    machine.models.push_back(*std::move(model));
  }
  if (reader.error()) return *reader.error();
  if (machine.models.empty())
    return Error::refused(file + " expects no device", "`proctor devices --expect-file FILE` writes one.");
  return machine;
}

std::string write_expected(const std::vector<PlannedDevice>& devices, const FactsOfCards& facts) {
  std::map<std::string, std::vector<const PlannedDevice*>> models;
  for (const PlannedDevice& device : devices) models[device.name].push_back(&device);
  std::string text =
      "# What this machine should have, for `proctor accept --expect`. Delete what may change.\n"
      "# A floor per measure may be added: [model.floor], \"memory.bandwidth.device_to_device\" = 2700.0\n";
  for (const auto& [name, same] : models) {
    text += fmt::format("\n[[model]]\nname = {}\ncount = {}\n", toml_text(clean_text(name)), same.size());
    std::string uuids;
    for (const PlannedDevice* device : same) {
      if (!device->uuid.empty()) uuids += fmt::format("  {},\n", toml_text(clean_text(device->uuid)));
    }
    if (!uuids.empty()) text += "uuids = [\n" + uuids + "]\n";
    for (const FactKey& fact : kFactKeys) {
      // For links it writes the number of active links, because a board may have more links than its machine uses.
      const std::string reported = std::string_view(fact.key) == "links" ? "links_up" : fact.key;
      if (const auto* value = common_fact(same, facts, reported))
        text += fmt::format("{} = {}\n", fact.key, toml_value(*value));
    }
  }
  return text;
}

}  // namespace proctor
