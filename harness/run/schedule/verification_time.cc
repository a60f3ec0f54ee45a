#include "harness/run/schedule/verification_time.h"

#include "harness/plan/batch.h"

namespace proctor {
namespace {

constexpr int kShare = 10;  // of the time of the batches, its inverse

}  // namespace

void VerificationTime::add_alone(const Suite& suite, Milliseconds duration) {
  Sum& sum = of_[&suite];
  sum.alone += duration;
  ++sum.verified;
  any_ = true;
}

bool VerificationTime::allows(const Suite& suite) const {
  if (!any_ || suite.verify >= kWholeShare) return true;
  const auto found = of_.find(&suite);
  if (found == of_.end()) return true;
  const Sum& sum = found->second;
  const Milliseconds next = sum.verified > 0 ? sum.alone / sum.verified : Milliseconds(0);
  return (sum.alone + next) * kShare <= sum.batches;
}

}  // namespace proctor
