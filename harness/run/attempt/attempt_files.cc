#include "harness/run/attempt/attempt_files.h"

#include "harness/core/digest.h"

namespace proctor {
namespace {

constexpr std::size_t kHashDigits = 16;

std::string attempt_stem(const std::string& case_id, int attempt, int repeat) {
  std::string stem = sha256_hex(case_id).substr(0, kHashDigits) + "." + std::to_string(attempt);
  if (repeat > 1) stem += ".r" + std::to_string(repeat);
  return stem;
}

}  // namespace

std::string attempt_log(const std::string& case_id, int attempt, int repeat) {
  return "logs/" + attempt_stem(case_id, attempt, repeat) + ".log";
}

std::string attempt_rank_log(const std::string& case_id, int attempt, int repeat, int rank) {
  return "logs/" + attempt_stem(case_id, attempt, repeat) + ".rank" + std::to_string(rank) + ".log";
}

std::string attempt_evidence(const std::string& case_id, int attempt, int repeat) {
  return "evidence/" + attempt_stem(case_id, attempt, repeat) + ".txt";
}

}  // namespace proctor
