// What drivers and devices say of themselves through Level Zero, and how they list it, in the process that calls it. Each
// takes a Level Zero that was initialised.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "suites/accel/xpu/level_zero.h"

namespace proctor::visibility {

// {"drivers":[..], "devices":[..]} with the members of each structure by their names; devices are the roots, each followed
// by its sub-devices. Every structure is filled with `before` before it is asked for, but for what says its type; "head"
// says whether that was left alone.
nlohmann::json ask_properties(const xpu::LevelZero& ze, unsigned char before);

// [{"function","count","wrong":[TEXT]}] for each function that lists: what the rule of the two calls forbids.
nlohmann::json list_in_every_way(const xpu::LevelZero& ze);

// {"found":BOOL, "entries":[{"name","since","written":{VERSION:BOOL}}], "results":{VERSION:CODE}, "newer":{..}} of the tables
// of functions that the driver itself gives to a loader of a version: 1.0 and on, and one that is not born yet.
nlohmann::json ask_tables(const xpu::LevelZero& ze);

}  // namespace proctor::visibility
