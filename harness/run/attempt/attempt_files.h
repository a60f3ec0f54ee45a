// Where the files of an attempt lie in the run directory.
#pragma once

#include <string>

namespace proctor {

// logs/HASH.ATTEMPT[.rR].log: HASH is the first 16 hex digits of SHA-256 of the id.
std::string attempt_log(const std::string& case_id, int attempt, int repeat);
// logs/HASH.ATTEMPT[.rR].rankN.log of one rank.
std::string attempt_rank_log(const std::string& case_id, int attempt, int repeat, int rank);
// evidence/HASH.ATTEMPT[.rR].txt, likewise.
std::string attempt_evidence(const std::string& case_id, int attempt, int repeat);

}  // namespace proctor
