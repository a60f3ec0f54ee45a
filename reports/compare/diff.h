// A comparison as people and programs read it. No text of a test is markup, and the same runs give the same bytes. Text
// for a terminal or a CI's log has to be made harmless by who prints it (shown()): each entry is one line.
#pragma once

#include <cstddef>
#include <string>

#include "reports/compare/comparison.h"
#include "reports/formats/markdown.h"
#include "reports/formats/text_output.h"

namespace proctor {

inline constexpr int kDiffSchemaVersion = 1;

// What was compared, which outlives this.
struct Diff {
  const RunResults& before;
  const RunResults& after;
  const Comparison& comparison;
};

// First which facts of the stack and which programs differ, whether a run has an end, then counts by class, then the cases of each class, of which
// `most` are shown.
std::string diff_text(const Diff& diff, std::size_t most);

// At most `limit` bytes; it says what it leaves out.
std::string diff_markdown(const Diff& diff, std::size_t limit = kJobSummaryBytes);

// reports/schema/diff.schema.json
void write_diff_json(const Diff& diff, TextOutput& output);

// Why it says nothing that a class has no case: "B is incomplete: its runner was killed, or still runs"; "" it does.
std::string why_unjudged(const Diff& diff);

// "3 regression, 1 fixed", or "nothing changed".
std::string counts_text(const Comparison& comparison);

}  // namespace proctor
