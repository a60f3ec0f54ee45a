// Creates journals for the tests of the reports, and runs programs that check the rendered reports.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::testing_support {

RunPlanned plan_of(std::vector<PlannedCase> cases);
PlannedCase planned(const std::string& id, const std::string& kind = "proctor");
AttemptStarted started(const std::string& id, int attempt = 1, int repeat = 1);
AttemptEnded ended(const std::string& id, Verdict verdict, int attempt = 1, int repeat = 1);
CaseEnded concluded(const std::string& id, Verdict verdict, Marks marks = {});

ResolvedRun resolved_of(const std::vector<Event>& events);
std::string journal_text(const std::vector<Event>& events);

// Returns a journal with every outcome, and with attempts, retries, output, failures, leaked processes, measures, marks
// and difficult text.
std::vector<Event> rich_journal();

// Returns text with all 256 bytes, a lone surrogate, invalid UTF-8 and the markup of every format.
std::string awkward_text();

void write_file(const std::filesystem::path& path, const std::string& text);

// Returns "" if `command` exits with 0, otherwise its output.
std::string complaint_of(const std::vector<std::string>& command);

// Proctor's own schemas have the names in reports/schema/. Published schemas are used if they are beside the checkout.
std::filesystem::path our_schema(const std::string& name);
std::filesystem::path published_schemas();

// Returns "" if the file is valid.
std::string xml_complaint(const std::filesystem::path& schema, const std::filesystem::path& xml);
// Validates against reports/schema/report.schema.json. With `closed`, keys that the schema
// does not name are refused, too.
std::string report_json_complaint(const std::filesystem::path& json, bool closed);

}  // namespace proctor::testing_support
