// Writes a comparison as text, Markdown and JSON. Text of tests is never markup, and the same runs give the same bytes.
// Each entry is one line. The caller must remove control characters (shown()) before it prints
// text to a terminal or a CI log.
#pragma once

#include <cstddef>
#include <string>

#include "reports/compare/comparison.h"
#include "reports/formats/markdown.h"
#include "reports/formats/text_output.h"

namespace proctor {

inline constexpr int kDiffSchemaVersion = 1;

// The comparison and its two runs, which must outlive this object.
struct Diff {
  const RunResults& before;
  const RunResults& after;
  const Comparison& comparison;
};

// Returns the facts of the stack and the programs that differ, then whether a run is incomplete, then counts by class,
// then at most `most` cases of each class.
std::string diff_text(const Diff& diff, std::size_t most);

// Returns at most `limit` bytes, and states the number of omitted entries.
std::string diff_markdown(const Diff& diff, std::size_t limit = kJobSummaryBytes);

// Its schema is reports/schema/diff.schema.json.
void write_diff_json(const Diff& diff, TextOutput& output);

// Returns why a class without cases is not conclusive: "B is incomplete: its runner was killed, or still runs"; "" if
// it is conclusive.
std::string why_unjudged(const Diff& diff);

// Returns "3 regression, 1 fixed", or "nothing changed".
std::string counts_text(const Comparison& comparison);

}  // namespace proctor
