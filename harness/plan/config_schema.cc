#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "harness/base/json.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/plan/config.h"
#include "harness/plan/config_tables.h"

namespace proctor {

namespace {

using nlohmann::json;

constexpr std::string_view kExample = "#: ";
constexpr std::string_view kAsInDefaults = "Limits, as in ";

// The description of one table, such as "[suite.attention]", and of its keys.
struct DescribedTable {
  std::string text;
  std::map<std::string, std::string> keys;
};
using Descriptions = std::map<std::string, DescribedTable>;

// Reads the comments of defaults.toml. A comment describes the lines below it, up to an empty line or the
// next comment.
Descriptions descriptions() {
  Descriptions found;
  std::string comment;
  std::string table;
  bool complete = true;
  for (std::string_view line : lines_of(embedded_defaults())) {
    if (line.starts_with("# ")) {
      if (complete) comment.clear();
      complete = false;
      comment += (comment.empty() ? "" : " ") + std::string(line.substr(2));
      continue;
    }
    complete = true;
    if (line.starts_with(kExample)) line.remove_prefix(kExample.size());
    if (line.ends_with(".env]")) {
      found[std::string(line.substr(0, line.size() - 5)) + "]"].keys["env"] = comment;
    } else if (line.starts_with("[")) {
      table = line;
      found[table].text = comment;
    } else if (!line.empty()) {
      found[table].keys[std::string(line.substr(0, line.find(' ')))] = comment;
    }
  }
  return found;
}

// Parses all examples of defaults.toml as one file, which sets every key of every table.
toml::table all_examples() {
  std::string text;
  for (std::string_view line : lines_of(embedded_defaults())) {
    if (line.starts_with(kExample)) line.remove_prefix(kExample.size());
    text += std::string(line) + '\n';
  }
  auto root = parse_toml(text, "defaults.toml");
  if (!root) throw std::logic_error(root.error().message());
  return *std::move(root);
}

AskedTables asked_tables(const toml::table& examples) {
  AskedTables asked;
  Config config;
  std::map<std::string, Profile> profiles;
  const FileContext file{.name = "defaults.toml", .directory = {}, .asked = &asked};
  if (const auto error = add_tables(examples, file, config, profiles))
    throw std::logic_error(error->message());
  return asked;
}

class SchemaWriter {
 public:
  json whole() const {
    json limits = table("[defaults.proctor]");
    limits["description"] = "Limits for all suites of one kind.";
    json defaults = table("[defaults]");
    for (const std::string& kind : kind_names())
      defaults["properties"][kind] = {{"$ref", "#/definitions/limits"}};
    json root = table("the top level");
    root["$schema"] = "http://json-schema.org/draft-07/schema#";
    root["title"] = "proctor.toml";
    root["definitions"] = {{"limits", std::move(limits)}};
    root["properties"]["min_version"]["description"] = described_.at("").keys.at("min_version");
    root["properties"]["run"] = table("[run]");
    root["properties"]["defaults"] = std::move(defaults);
    root["properties"]["suite"] = named("[suite.attention]", "^[A-Za-z0-9_-]+$");
    root["properties"]["override"] = {{"type", "array"}, {"items", table("[[override]]")}};
    root["properties"]["group"] = named("[group.licence]", "^[A-Za-z0-9_-]+$");
    root["properties"]["skip"] = {{"type", "array"}, {"items", table("[[skip]]")}};
    root["properties"]["profile"] = named("[profile.ci]", "");
    root["properties"]["profile"]["additionalProperties"]["properties"]["run"] = table("[profile.ci.run]");
    return root;
  }

 private:
  json table(const std::string& title) const {
    const AskedTable& asked = asked_.at(title);
    json object = {{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
    if (!asked.required.empty()) object["required"] = asked.required;
    const auto described = described_.find(title);
    if (described != described_.end()) object["description"] = described->second.text;
    for (const auto& [key, form] : asked.forms) {
      json value = parse_json(form);
      if (const std::string text = description_of(title, key); !text.empty()) value["description"] = text;
      if (json built_in = default_of(title, key); !built_in.is_null()) value["default"] = std::move(built_in);
      object["properties"][key] = std::move(value);
    }
    return object;
  }

  // Returns the schema of an object whose members are tables with arbitrary names.
  json named(const std::string& title, const std::string& pattern) const {
    json tables = {{"type", "object"}, {"additionalProperties", table(title)}};
    if (!pattern.empty()) tables["propertyNames"] = {{"pattern", pattern}};
    return tables;
  }

  std::string description_of(const std::string& title, const std::string& key) const {
    const auto described = described_.find(title);
    if (described != described_.end()) {
      const auto text = described->second.keys.find(key);
      if (text != described->second.keys.end() && !text->second.starts_with(kAsInDefaults))
        return text->second;
    }
    const auto& defaults = described_.at("[defaults]").keys;
    const auto text = defaults.find(key);
    return text == defaults.end() ? "" : text->second;
  }

  json default_of(const std::string& title, const std::string& key) const {
    const toml::node_view value = built_in_[std::string_view(title).substr(1, title.size() - 2)][key];
    if (const auto text = value.value<std::string>()) return *text;
    if (const auto number = value.value<std::int64_t>()) return *number;
    return nullptr;
  }

  const Descriptions described_ = descriptions();
  const AskedTables asked_ = asked_tables(all_examples());
  const toml::table built_in_ = *parse_toml(embedded_defaults(), "defaults.toml");
};

}  // namespace

std::string config_schema() { return SchemaWriter().whole().dump(1) + "\n"; }

}  // namespace proctor
