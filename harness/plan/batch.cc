#include "harness/plan/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "harness/base/text.h"
#include "harness/request/option.h"

namespace proctor {
namespace {

constexpr std::size_t kLeastAuto = 16;
constexpr std::size_t kMostAuto = 500;
constexpr std::string_view kBatch = "batch:";
constexpr std::string_view kVerify = "verify:";

Result<int> read_batch(std::string_view part, std::string_view source) {
  const std::string_view value = part.substr(kBatch.size());
  if (value == "auto") return kAutoBatch;
  if (const auto number = whole_number(value, 1, kMostInBatch)) return *number;
  return Error::refused(
      fmt::format("{} {} must have auto or a number from 1 to {}", source, part, kMostInBatch),
      "A process for each case is `case`.");
}

Result<double> read_verify(std::string_view part, std::string_view source) {
  const std::string_view value = part.substr(kVerify.size());
  if (value == "off") return 0.0;
  double percent = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), percent);
  const bool is_percentage =
      error == std::errc() && std::string_view(end, value.data() + value.size()) == "%";
  if (is_percentage && percent >= 0 && percent <= kWholeShare) return percent;
  return Error::refused(fmt::format("{} {} must have off or a percentage from 0% to 100%", source, part),
                        "For example verify:2%.");
}

}  // namespace

Result<ProcessChoice> parse_process(std::string_view text, std::string_view source) {
  ProcessChoice choice;
  std::string_view unit = text;
  const auto verify = text.rfind(kVerify);
  if (verify == 0 || (verify != text.npos && text[verify - 1] == ',')) {
    const auto share = read_verify(text.substr(verify), source);
    if (!share) return share.error();
    choice.verify = *share;
    if (verify == 0) return choice;
    unit = text.substr(0, verify - 1);
  }
  if (unit.starts_with(kBatch)) {
    const auto batch = read_batch(unit, source);
    if (!batch) return batch.error();
    choice.unit = "suite";
    choice.batch = *batch;
    return choice;
  }
  const std::vector<std::string> units = {"case", "file", "suite", "batch:auto"};
  if (std::find(units.begin(), units.end(), unit) == units.end())
    return Error::refused(fmt::format("{} {} does not exist", source, unit),
                          suggestion(unit, units, "choices"));
  choice.unit = unit;
  return choice;
}

std::string process_form() {
  constexpr std::string_view kShare = "verify:(off|[0-9.]+%)";
  return fmt::format("^((case|file|suite|batch:(auto|[1-9][0-9]{{0,4}}|{}))(,{})?|{})$", kMostInBatch, kShare,
                     kShare);
}

void choose_process(const ProcessChoice& choice, Suite& suite) {
  if (choice.verify) suite.verify = *choice.verify;
  if (choice.unit.empty()) return;
  suite.process = choice.unit;
  suite.batch = choice.batch;
  suite.process_chosen = true;
}

std::size_t batch_size(int batch, std::size_t left, int slots) {
  if (batch == kNoBatchLimit) return left;
  if (batch != kAutoBatch) return std::min(left, static_cast<std::size_t>(batch));
  const std::size_t share = left / (2 * static_cast<std::size_t>(std::max(slots, 1)));
  return std::min(left, std::clamp(share, kLeastAuto, kMostAuto));
}

}  // namespace proctor
