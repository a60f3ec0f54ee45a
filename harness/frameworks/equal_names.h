// Cases for names that do not select exactly one test. The kinds of Catch2, doctest and Google Benchmark use
// this.
//
// Equal names: doctest and Google Benchmark allow them, and Catch2 ignores case. A command that selects one
// such test runs all of them, so they are one case. The command ends with a list that repeats the name once
// for each test. The framework ignores the repetition, and the translator counts it.
//
// Names with bytes that XML cannot contain: the reports of Catch2 and doctest have `\x1B` for ESC and `\xF6`
// for a byte of Latin-1. A test can also have these four characters in its name. The command selects both
// spellings.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/frameworks/suite.h"
#include "harness/journal/events.h"

namespace proctor {

// Returns the name as in the report, and with decoded escapes if it has any.
std::vector<std::string> spellings_of(const std::string& name);

// Merges the cases with the same key into one, which has its own process and a warning. Returns the number of
// tests of each merged case, by its index.
std::map<std::size_t, int> join_equal_names(std::vector<Case>& cases,
                                            const std::function<std::string(const Case&)>& key_of,
                                            const Suite& suite, std::vector<Warning>& warnings);
// Like join_equal_names(). It also repeats the names in the last argument, which is `option` followed by the
// list.
void join_listed_names(std::vector<Case>& cases, const std::function<std::string(const Case&)>& key_of,
                       std::string_view option, const Suite& suite, std::vector<Warning>& warnings);

// Returns the number of tests of a case from that list.
int tests_of(const Case& test, std::string_view option);

}  // namespace proctor
