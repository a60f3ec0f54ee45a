// Which rows a self-test has: each a case of a check under one fault, or under none.
//
//   clean    every case without a fault; anything but a pass without warnings is a problem
//   listed   a check under a fault that it names. The parameters of a check are tried in order until one
//            fails.
//   spread   full only: a pointed fault against the other checks of the suite, to see that it does not
//            simply break everything
//
// quick takes from the listed rows each check's first pointed fault (they are in order of cost), and for each
// fault that is then still missing the first check that names it. full takes all rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace proctor {

// A fault that the simulator can have. `blanket`: it fails almost any check, so it proves nothing about one.
struct CatalogueFault {
  std::string name;
  bool blanket = false;
};

// Those faults of the simulator's table that devices of `backend` can have.
std::vector<CatalogueFault> fault_catalogue(std::string_view backend);

// "memory.corrupt_copy" for "memory.corrupt_copy:at=17".
std::string_view fault_name(std::string_view spec);

// A GoogleTest name without its parameter.
struct SelftestCheck {
  std::string id;                  // "memory.xpu/Copy.DestinationHasSourceBytes"
  std::size_t suite = 0;           // index into Plan::suites
  std::vector<std::size_t> cases;  // indices into Plan::cases, one per parameter
  std::vector<std::string> faults;
};
std::vector<SelftestCheck> checks_of(const Plan& plan);
// "memory.xpu/Copy.DestinationHasSourceBytes" for "memory.xpu/Copy.DestinationHasSourceBytes/fp16".
std::string check_id(std::string_view case_id);

enum class RowPurpose { kClean, kListed, kSpread };

struct SelftestRow {
  RowPurpose purpose = RowPurpose::kClean;
  std::string fault;               // as PROCTOR_SIM_FAULTS takes it; "" = clean
  std::size_t check = 0;           // index into SelftestMatrix::checks
  std::vector<std::size_t> cases;  // tried in order until one is killed
};

struct SelftestMatrix {
  std::vector<CatalogueFault> faults;
  std::vector<SelftestCheck> checks;
  std::vector<SelftestRow> rows;
  bool partial = false;  // only one fault or check was chosen: says nothing about the others
};

struct MatrixOptions {
  bool full = false;
  std::string fault;  // only this fault (its name); "" = all
  std::string check;  // only this check: its id, or Group.Name; "" = all
};

// Errors are usage errors: an option that names nothing, with the near miss; a check that lists a fault which
// is not in the catalogue.
Result<SelftestMatrix> make_matrix(const Plan& plan, std::vector<CatalogueFault> catalogue,
                                   const MatrixOptions& options);

}  // namespace proctor
