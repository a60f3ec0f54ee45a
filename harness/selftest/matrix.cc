#include "harness/selftest/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fixtures/simgpu/spec/fault_table.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

const CatalogueFault* find(const std::vector<CatalogueFault>& catalogue, std::string_view name) {
  const auto found = std::find_if(catalogue.begin(), catalogue.end(),
                                  [&](const CatalogueFault& fault) { return fault.name == name; });
  return found == catalogue.end() ? nullptr : &*found;
}

std::vector<std::string> names(const std::vector<CatalogueFault>& catalogue) {
  std::vector<std::string> all;
  for (const auto& fault : catalogue) all.push_back(fault.name);
  return all;
}

std::string name_alone(std::string_view check_id) {
  return std::string(check_id.substr(check_id.find('/') + 1));
}

Result<void> check_listed_faults(const SelftestMatrix& matrix) {
  for (const auto& check : matrix.checks) {
    for (const auto& spec : check.faults) {
      if (find(matrix.faults, fault_name(spec)) != nullptr) continue;
      return Error::usage(fmt::format("plan the self-test: {} lists the unknown fault '{}'", check.id, spec),
                          did_you_mean(fault_name(spec), names(matrix.faults)));
    }
  }
  return {};
}

Result<void> narrow_to_check(SelftestMatrix& matrix, const std::string& wanted) {
  std::vector<std::string> known;
  std::vector<SelftestCheck> chosen;
  for (const auto& check : matrix.checks) {
    known.push_back(check.id);
    known.push_back(name_alone(check.id));
    if (check.id == wanted || name_alone(check.id) == wanted) chosen.push_back(check);
  }
  if (chosen.empty()) return Error::usage("find check '" + wanted + "'", did_you_mean(wanted, known));
  matrix.checks = std::move(chosen);
  return {};
}

Result<void> narrow_to_fault(SelftestMatrix& matrix, const std::string& wanted) {
  const CatalogueFault* fault = find(matrix.faults, wanted);
  if (fault == nullptr) {
    return Error::usage("find fault '" + wanted + "'", did_you_mean(wanted, names(matrix.faults)));
  }
  matrix.faults = {CatalogueFault(*fault)};
  for (auto& check : matrix.checks) {
    std::erase_if(check.faults, [&](const std::string& spec) { return fault_name(spec) != wanted; });
  }
  std::erase_if(matrix.checks, [](const SelftestCheck& check) { return check.faults.empty(); });
  if (matrix.checks.empty()) return Error::usage("find a check that lists fault '" + wanted + "'");
  return {};
}

void add_clean(SelftestMatrix& matrix) {
  for (std::size_t check = 0; check < matrix.checks.size(); ++check) {
    for (const auto test : matrix.checks[check].cases) {
      matrix.rows.push_back({RowPurpose::kClean, "", check, {test}});
    }
  }
}

void add_listed(SelftestMatrix& matrix, std::size_t check, const std::string& spec) {
  matrix.rows.push_back({RowPurpose::kListed, spec, check, matrix.checks[check].cases});
}

void add_cheapest(SelftestMatrix& matrix) {
  std::set<std::string, std::less<>> used;
  for (std::size_t i = 0; i < matrix.checks.size(); ++i) {
    const auto& faults = matrix.checks[i].faults;
    if (faults.empty()) continue;
    const auto pointed = std::find_if(faults.begin(), faults.end(), [&](const std::string& spec) {
      return !find(matrix.faults, fault_name(spec))->blanket;
    });
    const std::string& chosen = pointed == faults.end() ? faults.front() : *pointed;
    used.emplace(fault_name(chosen));
    add_listed(matrix, i, chosen);
  }
  for (std::size_t i = 0; i < matrix.checks.size(); ++i) {
    for (const auto& spec : matrix.checks[i].faults) {
      if (used.emplace(fault_name(spec)).second) add_listed(matrix, i, spec);
    }
  }
}

// Returns how specific a fault is, as the number of its keys: "copy.skip:min=5000,times=1" has two.
auto keys(std::string_view spec) { return std::ranges::count(spec, '='); }

// Adds spread rows for each pointed fault, with the most specific text that a check declares. If even that fault fails
// most of a suite, it does not distinguish checks.
void add_spread(SelftestMatrix& matrix) {
  for (const auto& fault : matrix.faults) {
    if (fault.blanket) continue;
    const SelftestRow* narrowest = nullptr;
    std::set<std::size_t> listed;
    for (const auto& row : matrix.rows) {
      if (row.purpose != RowPurpose::kListed || fault_name(row.fault) != fault.name) continue;
      if (narrowest == nullptr || keys(row.fault) > keys(narrowest->fault)) narrowest = &row;
      listed.insert(row.check);
    }
    if (narrowest == nullptr) continue;
    const std::string spec = narrowest->fault;
    const std::size_t suite = matrix.checks[narrowest->check].suite;
    for (std::size_t i = 0; i < matrix.checks.size(); ++i) {
      if (matrix.checks[i].suite != suite || listed.contains(i)) continue;
      matrix.rows.push_back({RowPurpose::kSpread, spec, i, {matrix.checks[i].cases.front()}});
    }
  }
}

}  // namespace

std::vector<CatalogueFault> fault_catalogue(std::string_view backend) {
  std::vector<CatalogueFault> catalogue;
  for (const auto& fault : simgpu::fault_table()) {
    if (simgpu::applies_to(fault, backend)) catalogue.push_back({std::string(fault.name), fault.blanket()});
  }
  return catalogue;
}

std::string_view fault_name(std::string_view spec) { return spec.substr(0, spec.find(':')); }

std::string check_id(std::string_view case_id) {
  const auto suite = case_id.find('/');
  if (suite == std::string_view::npos) return std::string(case_id);
  return std::string(case_id.substr(0, case_id.find('/', suite + 1)));
}

std::vector<SelftestCheck> checks_of(const Plan& plan) {
  std::vector<SelftestCheck> checks;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& test = plan.cases[i];
    const std::string id = check_id(test.id);
    const auto [at, added] = known.emplace(id, checks.size());
    if (added) checks.push_back({id, test.suite, {}, test.faults});
    checks[at->second].cases.push_back(i);
  }
  return checks;
}

Result<SelftestMatrix> make_matrix(const Plan& plan, std::vector<CatalogueFault> catalogue,
                                   const MatrixOptions& options) {
  SelftestMatrix matrix;
  matrix.faults = std::move(catalogue);
  matrix.checks = checks_of(plan);
  matrix.partial = !options.fault.empty() || !options.check.empty();
  if (auto checked = check_listed_faults(matrix); !checked) return checked.error();
  if (!options.check.empty()) {
    if (auto narrowed = narrow_to_check(matrix, options.check); !narrowed) return narrowed.error();
  }
  if (!options.fault.empty()) {
    if (auto narrowed = narrow_to_fault(matrix, options.fault); !narrowed) return narrowed.error();
  }
  add_clean(matrix);
  if (options.full || matrix.partial) {
    for (std::size_t i = 0; i < matrix.checks.size(); ++i) {
      for (const auto& spec : matrix.checks[i].faults) add_listed(matrix, i, spec);
    }
  } else {
    add_cheapest(matrix);
  }
  if (options.full && !matrix.partial) add_spread(matrix);
  return matrix;
}

}  // namespace proctor
