#include "harness/plan/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/plan/shard.h"

namespace proctor {
namespace {

constexpr std::size_t kLeastAuto = 16;
constexpr std::size_t kMostAuto = 500;

}  // namespace

Result<int> parse_batch(std::string_view text, std::string_view source) {
  if (text == "auto") return kAutoBatch;
  const auto number = shard_number(text);
  if (number && *number >= 1 && *number <= kMostInBatch) return *number;
  return Error::refused(
      fmt::format("{} must be auto or a number from 1 to {} (got {})", source, kMostInBatch, text),
      "A process for each case is process = \"case\".");
}

void share_process(Suite& suite, int batch) {
  suite.process = "suite";
  suite.process_chosen = true;
  suite.batch = batch;
}

std::size_t batch_size(int batch, std::size_t left, int slots) {
  if (batch == kNoBatchLimit) return left;
  if (batch != kAutoBatch) return std::min(left, static_cast<std::size_t>(batch));
  const std::size_t share = left / (2 * static_cast<std::size_t>(std::max(slots, 1)));
  return std::min(left, std::clamp(share, kLeastAuto, kMostAuto));
}

Result<double> parse_verify(std::string_view text, std::string_view source) {
  if (text == "off") return 0.0;
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_percentage = error == std::errc() && std::string_view(end, text.data() + text.size()) == "%";
  if (is_percentage && percent >= 0 && percent <= kWholeShare) return percent;
  return Error::refused(fmt::format("{} must be off or a percentage from 0% to 100% (got {})", source, text),
                        "For example 2%.");
}

}  // namespace proctor
