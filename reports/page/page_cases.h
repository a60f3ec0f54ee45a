// What a page knows of each case beside its result: read once, for the page's own HTML and for its data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/page_request.h"

namespace proctor {

struct PageCase {
  std::uint32_t run = 0;    // index in PageRequest::runs
  std::uint32_t index = 0;  // in its cases, and in those of its results
  bool bad = false;
  bool moved = false;   // it failed on one device, and passed on another
  bool odd = false;     // there is more to say than that it passed
  bool is_new = false;  // bad, and not so before
  Blame blame = Blame::kNobody;
  std::optional<Change> change{};   // against the run that it is compared with, the first word on it
  std::uint32_t failing_runs = 0;   // in a row until now, with this one; 0: it does not fail
  std::uint32_t since = kNotThere;  // index in Past::runs of the first of them; kNotThere: this run
};

std::vector<PageCase> page_cases(const PageRequest& request);

// What earlier runs say of a case that failed or was flaky: those of the history of the page, else of the journal.
std::optional<CasePast> past_of(const PageRequest& request, const PageCase& test);

// Of a new failure, what went before it: a commit, or a run where no commit is known; "" unknown.
std::string last_good(const PageRequest& request, const PageCase& test);

// Its commit, short, or its run where no commit is known.
std::string name_of_run(const RunResults& results);

// What happened, in one line; of a case that was good in the end, what was bad before.
std::string message_of(const PageRequest& request, const PageCase& test);

// Who made it: "the device: NVIDIA H100 PCIe, cuda:GPU-1"; "" where nobody is known.
std::string culprit_of(const PageRequest& request, const PageCase& test);

const ResolvedCase& record_of(const PageRequest& request, const PageCase& test);
const CaseResult& result_of(const PageRequest& request, const PageCase& test);

// Each run has its own variants and causes: on a page they are numbered through, causes from 1.
std::size_t variant_number(const PageRequest& request, std::size_t run, std::uint32_t variant);
std::size_t cause_number(const PageRequest& request, std::size_t run, std::uint32_t cause);

// "memory.xpu", or "attention" where no backend is.
std::string suite_name(const Variant& variant);

// How a result looks: a class of page.css, which has its colours, and the sign beside them.
struct Look {
  std::string_view name;
  std::string_view sign;
};

// From bad to good.
std::span<const Look> all_looks();
std::string_view look_of(const Verdict& verdict, Standing standing);
std::string_view look_of(Outcome outcome);  // of a case that ended so
std::string_view sign_of(std::string_view look);

}  // namespace proctor
