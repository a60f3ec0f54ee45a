// Names the files of an attempt in the run directory, so that a person finds the file of a case:
//
//   logs/memory.xpu/Copy.UnalignedCopyIsByteExact.1.log
//   logs/tests/t-test_a.py-test_add-fp16.2.r3.log          second attempt of the third repetition
//   logs/collectives.none/AllReduce.Sums.1.rank2.log
//
// All frameworks and commands use this scheme (docs/how-to/read-a-report.md). Cases that share a process share a log,
// which has the name of the first case.
//
// The directory is the part of the case's id before the first `/`. The name is the part after it, with `-` in place of
// bytes that a shell or a file system treats specially. Equal names, and names longer than 150 bytes, contain a hash of
// the id. If this name is used too, for example by a case whose id ends with the hash, it gets a number.
#pragma once

#include <map>
#include <set>
#include <string>

#include "harness/plan/plan.h"

namespace proctor {

class LogNames {
 public:
  LogNames() = default;
  explicit LogNames(const Plan& plan);

  // Returns for example "memory.xpu/Copy.UnalignedCopyIsByteExact", without `logs/` and the suffix of an attempt.
  std::string stem(const std::string& case_id) const;

 private:
  std::string usual_stem(const std::string& case_id) const;

  std::set<std::string> shared_;                 // stems that several ids would share
  std::map<std::string, std::string> numbered_;  // stems of ids whose usual stem is in use
};

}  // namespace proctor
