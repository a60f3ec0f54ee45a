#include "harness/runner/schedule/verification_time.h"

#include "harness/plan/batch.h"

namespace proctor {
namespace {

constexpr int kShare = 10;  // of the time of the batches, its inverse

}  // namespace

void VerificationTime::end_alone(const Suite& suite, Milliseconds duration) {
  Sum& sum = of_[&suite];
  sum.alone += duration;
  --sum.running;
  ++sum.verified;
}

bool VerificationTime::allows(const Suite& suite) const {
  if (suite.verify >= kWholeShare) return true;
  const auto found = of_.find(&suite);
  if (found == of_.end()) return true;
  const Sum& sum = found->second;
  if (sum.verified == 0) return sum.running == 0;
  const Milliseconds each = sum.alone / sum.verified;
  return (sum.alone + (sum.running + 1) * each) * kShare <= sum.batches;
}

}  // namespace proctor
