#include "harness/plan/run_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "harness/base/json.h"
#include "harness/request/option.h"

namespace proctor {
namespace {

// Reads one key of a table into a request.
class KeyReader {
 public:
  KeyReader(TableReader& reader, const std::string& directory, const Option& option, RunRequest& run)
      : reader_(reader), directory_(directory), option_(option), key_(option.key.c_str()), run_(run) {}

  void read(bool of_user) {
    std::visit([this](const auto& type) { read(type); }, option_.value);
    if (option_.project_only && of_user && reader_.wanted(key_) != nullptr)
      reader_.fail(key_, fmt::format("`{}` cannot be in the user's own file", option_.key),
                   "It leaves cases out: write it in the proctor.toml of the project.");
  }

 private:
  void read(const FlagValue& flag) {
    bool value = false;
    reader_.read(key_, value);
    if (reader_.wanted(key_) != nullptr) put(flag.of, value);
  }

  void read(const NumberValue& number) {
    std::optional<int> value;
    if (number.if_flag)
      reader_.tell(
          key_,
          fmt::format(
              R"({{"anyOf": [{{"type": "boolean"}}, {{"type": "integer", "minimum": {}, "maximum": {}}}]}})",
              number.least, number.most));
    const toml::node* node = reader_.wanted(key_);
    if (number.if_flag && node != nullptr && node->is_boolean()) {
      value = node->as_boolean()->get() ? *number.if_flag : 0;
    } else {
      reader_.read(key_, value, number.least, number.most);
    }
    if (value) put(number.of, *value);
  }

  void read(const DurationValue& duration) {
    std::optional<Milliseconds> value;
    reader_.read(key_, value, duration.zero_allowed);
    if (value) put(duration.of, *value);
  }

  void read(const TextValue& text) {
    std::optional<std::string> value;
    if (!text.choices.empty()) {
      reader_.read_choice(key_, value, text.choices);
    } else {
      const std::string pattern = text.form.empty() ? "." : text.form;
      reader_.tell(key_, nlohmann::json({{"type", "string"}, {"pattern", pattern}}).dump());
      reader_.read(key_, value);
    }
    if (!value) return;
    if (value->empty()) return reader_.fail(key_, fmt::format("`{}` must not be empty", option_.key));
    if (text.check != nullptr) {
      if (const auto checked = text.check(*value); !checked)
        return reader_.fail(key_, fmt::format("`{}`: {}", option_.key, checked.error().what),
                            checked.error().hint);
    }
    if (text.is_path) value = (std::filesystem::path(directory_) / *value).lexically_normal().string();
    put(text.of, *std::move(value));
  }

  void read(const TextsValue& texts) {
    std::optional<std::vector<std::string>> value;
    reader_.read(key_, value);
    if (value) put(texts.of, *std::move(value));
  }

  template <typename AnyPlaces, typename Value>
  void put(const AnyPlaces& of, Value value) {
    std::visit([&](auto place) { place(run_) = std::move(value); }, of);
  }

  TableReader& reader_;
  const std::string& directory_;
  const Option& option_;
  const char* key_;
  RunRequest& run_;
};

}  // namespace

std::vector<std::string> run_keys() {
  std::vector<std::string> keys;
  for (const Option& option : options()) {
    if (!option.key.empty()) keys.push_back(option.key);
  }
  std::ranges::sort(keys);
  return keys;
}

void read_run_keys(TableReader& reader, const std::string& directory, bool of_user, RunRequest& run) {
  for (const Option& option : options()) {
    if (!option.key.empty()) KeyReader(reader, directory, option, run).read(of_user);
  }
}

}  // namespace proctor
