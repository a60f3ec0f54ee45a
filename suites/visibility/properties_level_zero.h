// The properties that drivers and devices report through Level Zero, and the ways in which they list them, as JSON
// for check_properties.cc. The functions run in the calling process, after zeInit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/accel/xpu/level_zero.h"

namespace proctor::visibility {

// {"drivers":[..], "devices":[..]} with the members of each structure by their names. The devices are the roots,
// each followed by its sub-devices. Every structure is filled with `before` before the call, except its type.
// "head" is true if the call left type and chain unchanged.
nlohmann::json ask_properties(const xpu::LevelZero& ze, unsigned char before);

// [{"function","count","wrong":[TEXT]}] for each function that lists. "wrong" has the violations of the rule for a
// call with a count.
nlohmann::json list_in_every_way(const xpu::LevelZero& ze);

// {"found":BOOL, "entries":[{"name","since","written":{VERSION:BOOL}}], "results":{VERSION:CODE}, "newer":{..}} of
// the function tables that the driver gives to a loader. The versions are 1.0 and later, and one that does not
// exist yet.
nlohmann::json ask_tables(const xpu::LevelZero& ze);

}  // namespace proctor::visibility
