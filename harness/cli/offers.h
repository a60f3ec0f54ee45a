// What a shell offers for the word that is being typed, from the same definition of the command line as --help. The
// completion of each shell (harness/cli/completion/) asks `proctor manual complete -- WORD...` for it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace proctor::cli {

struct Offer {
  std::string word;         // the whole of it: "--leaks=warn" for what began with "--leaks="
  std::string description;  // "" for what the machine has: suites, ids
};

// `words`: those behind `proctor`; the last one is being typed. None: a file, or a word of a command of yours.
std::vector<Offer> offers(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace proctor::cli
