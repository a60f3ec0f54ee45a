// Creates the rows of a self-test. A row is a case of a check under one fault, or without a fault.
//
//   clean    every case without a fault; anything but a pass without warnings is a problem
//   listed   a check under a fault that it declares. The parameters of a check are run in order until one
//            fails.
//   spread   full only: a pointed fault and the other checks of its suite, to verify that it does not
//            simply fail everything
//
// `quick` uses each check's first pointed fault (they are in order of cost). For each fault without a row, it adds the
// first check that declares it. `full` uses all rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// A fault of the simulator. `blanket`: it fails almost any check, so it proves nothing about one.
struct CatalogueFault {
  std::string name;
  bool blanket = false;
};

// Returns the faults of the simulator that devices of `backend` can have.
std::vector<CatalogueFault> fault_catalogue(std::string_view backend);

// Returns "memory.corrupt_copy" for "memory.corrupt_copy:at=17".
std::string_view fault_name(std::string_view spec);

// A check: all cases with the same GoogleTest name without its parameter.
struct SelftestCheck {
  std::string id;                  // "memory.xpu/Copy.DestinationHasSourceBytes"
  std::size_t suite = 0;           // index into Plan::suites
  std::vector<std::size_t> cases;  // indices into Plan::cases, one per parameter
  std::vector<std::string> faults;
};
std::vector<SelftestCheck> checks_of(const Plan& plan);
// Returns "memory.xpu/Copy.DestinationHasSourceBytes" for "memory.xpu/Copy.DestinationHasSourceBytes/fp16".
std::string check_id(std::string_view case_id);

enum class RowPurpose { kClean, kListed, kSpread };

struct SelftestRow {
  RowPurpose purpose = RowPurpose::kClean;
  std::string fault;               // value for PROCTOR_SIM_FAULTS; "": clean
  std::size_t check = 0;           // index into SelftestMatrix::checks
  std::vector<std::size_t> cases;  // run in order until one is killed
};

struct SelftestMatrix {
  std::vector<CatalogueFault> faults;
  std::vector<SelftestCheck> checks;
  std::vector<SelftestRow> rows;
  bool partial = false;  // true if only one fault or check was selected; the result does not cover the others
};

struct MatrixOptions {
  bool full = false;
  std::string fault;  // name of the only fault; "": all
  std::string check;  // id or Group.Name of the only check; "": all
};

// All errors are usage errors: an option that matches nothing (with the nearest name), or a check that declares an
// unknown fault.
Result<SelftestMatrix> make_matrix(const Plan& plan, std::vector<CatalogueFault> catalogue,
                                   const MatrixOptions& options);

}  // namespace proctor
