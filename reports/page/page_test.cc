#include "reports/page/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "harness/base/digest.h"
#include "harness/base/temp_dir.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_data.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const PageRequest& request) {
  return text_of([&](TextOutput& output) { write_page(request, output); });
}

std::string page_of(const ResolvedRun& model, const fs::path& run_dir = {}) {
  PageRequest request;
  request.runs.push_back({.resolved = model, .run_dir = run_dir, .link = ""});
  return page_of(request);
}

// Returns the text between `from` and `to`.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find(to, begin + from.size());
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const auto digit =
        std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (digit == std::string_view::npos) break;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xff);
  }
  return bytes;
}

json block_of(const std::string& page, const std::string& name) {
  const std::string packed = from_base64(between(page, "id=\"data-" + name + "\">", "</script>"));
  std::string text(std::size_t{8} << 20, '\0');
  auto length = static_cast<uLongf>(text.size());
  const int done = ::uncompress(reinterpret_cast<Bytef*>(text.data()), &length,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  EXPECT_EQ(done, Z_OK) << name;
  text.resize(length);
  return json::parse(text);
}

// Returns the value of a column for a case. A column of equal values is a single number.
json at(const json& list, const std::string& column, std::size_t place) {
  return list[column].is_array() ? list[column][place] : list[column];
}

std::size_t place_of(const json& list, const std::string& id) {
  for (std::size_t i = 0; i < list["id"].size(); ++i) {
    if (list["id"][i] == id) return i;
  }
  ADD_FAILURE() << id << " is not in the list";
  return 0;
}

std::vector<Event> one_bad(const std::string& message = "the bytes differ") {
  std::vector<Event> events = {plan_of({planned("memory.xpu/Copy.Good"), planned("memory.xpu/Copy.Bad")})};
  events.emplace_back(started("memory.xpu/Copy.Good"));
  events.emplace_back(ended("memory.xpu/Copy.Good", {Outcome::kPass, ""}));
  events.emplace_back(concluded("memory.xpu/Copy.Good", {Outcome::kPass, ""}));
  events.emplace_back(started("memory.xpu/Copy.Bad"));
  AttemptEnded end = ended("memory.xpu/Copy.Bad", {Outcome::kFail, ""});
  end.failures.push_back({"M-1", message, "copy.cc", 7, "1", "2", ""});
  events.emplace_back(end);
  events.emplace_back(concluded("memory.xpu/Copy.Bad", {Outcome::kFail, ""}));
  events.emplace_back(RunEnded{"2026-01-31T12:00:05Z", 5000});
  return events;
}

TEST(Page, ShowsSectionsInOrder) {
  const std::string page = page_of(resolved_of(one_bad()));
  std::size_t last = 0;
  for (const std::string_view part :
       {"<h1>", "Exit code <strong>1</strong>", "<nav", "Causes</h2>", "Cases</h2>", "Owner</h2>",
        "Suites</h2>", "Devices</h2>", "Where it ran</h2>"}) {
    const std::size_t here = page.find(part, last);
    ASSERT_NE(here, std::string::npos) << part;
    last = here;
  }
  EXPECT_THAT(page, HasSubstr("Failed: 1 of 2 cases</h1>"));
}

TEST(Page, ListsBadCasesWithoutScript) {
  const std::string page = page_of(resolved_of(one_bad()));
  const std::string plain = between(page, "<div id=\"plain\">", "</div>");
  EXPECT_THAT(plain, HasSubstr("memory.xpu/Copy.Bad"));
  EXPECT_THAT(plain, HasSubstr("the bytes differ"));
  EXPECT_THAT(
      plain,
      HasSubstr("proctor run memory --backend xpu --devices xpu:0000:03:00.0 --case memory.xpu/Copy.Bad"));
  EXPECT_THAT(plain, Not(HasSubstr("Copy.Good")));
}

TEST(Page, CspAllowsOnlyOwnStyleAndScript) {
  const std::string page = page_of(resolved_of(one_bad()));
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy, "default-src 'none'; style-src " + policy_digest(between(page, "<style>", "</style>")) +
                        "; script-src " + policy_digest(between(page, "<script>", "</script>")) +
                        "; base-uri 'none'; form-action 'none'");
  EXPECT_THAT(page, Not(HasSubstr(" style=")));
  for (const Style& style : all_styles()) {
    EXPECT_THAT(page_style(), HasSubstr(fmt::format(" --{}: #", style.name)));
    EXPECT_THAT(page_style(), HasSubstr(fmt::format(" --{}-paper: #", style.name)));
  }
  EXPECT_LE(page_script().size(), 60U * 1024);
  EXPECT_EQ(policy_digest(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

TEST(Page, EscapesHostileText) {
  const std::string evil = "</script><script>alert(1)</script><!-- ]]> \" ' & \xe2\x80\xae ::error::x";
  const std::string page = page_of(resolved_of(one_bad(evil)));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
  const json list = block_of(page, "list");
  const std::string message = list["messages"][at(list, "message", 1).get<std::size_t>()];
  EXPECT_THAT(message, HasSubstr("<script>alert(1)"));  // this is data, which the script shows as text
  EXPECT_THAT(message, Not(HasSubstr("\xe2\x80\xae")));
}

TEST(Page, ListsCasesOfEveryOutcome) {
  const ResolvedRun model = resolved_of(rich_journal());
  const json list = block_of(page_of(model), "list");
  ASSERT_EQ(list["id"].size(), model.cases.size());
  for (std::size_t i = 0; i < model.cases.size(); ++i) {
    const std::string verdict = list["verdicts"][at(list, "verdict", i).get<std::size_t>()];
    EXPECT_THAT(verdict, testing::StartsWith(to_string(model.cases[i].verdict.outcome))) << i;
  }
  const std::size_t flaky = place_of(list, "memory.xpu/Flaky.Case");
  EXPECT_EQ(at(list, "attempts", flaky), 2);
  EXPECT_EQ(list["marksets"][at(list, "marks", flaky).get<std::size_t>()], "flaky");
}

TEST(Page, ListHasRerunCommandOfCase) {
  const ResolvedRun model = resolved_of(one_bad());
  const json list = block_of(page_of(model), "list");
  const json& command = list["reruns"][at(list, "rerun", 1).get<std::size_t>()];
  const json around_the_id = {"proctor run memory --backend xpu --devices xpu:0000:03:00.0 --case ", ""};
  EXPECT_EQ(command, around_the_id);
}

TEST(Page, DetailsHaveAttemptsOfBadCases) {
  const json details = block_of(page_of(resolved_of(one_bad())), "details0");
  ASSERT_EQ(details.size(), 1U);
  const json& attempt = details[0]["attempts"][0];
  EXPECT_EQ(attempt["failures"][0]["message"], "the bytes differ");
  EXPECT_EQ(attempt["failures"][0]["facts"][0], json({"At", "copy.cc:7"}));
  EXPECT_EQ(attempt["facts"][0], json({"Devices", "xpu:0000:03:00.0"}));
  EXPECT_EQ(details[0]["facts"][0], json({"Owner", "code"}));
}

TEST(Page, EmbedsLogTailOfBadAttempt) {
  TempDir directory;
  fs::create_directories(directory.path() / "logs");
  write_file(directory.path() / "logs/0123456789abcdef.1.log",
             "     0.001234 out| first\n     0.002000 err| last\n");
  const std::string page = page_of(resolved_of(one_bad()), directory.path());
  EXPECT_EQ(block_of(page, "logs0")[0]["text"], "first\nlast\n");
  EXPECT_EQ(block_of(page, "details0")[0]["attempts"][0]["tail"], 0);
  EXPECT_EQ(block_of(page, "details0")[0]["attempts"][0]["log"], "logs/0123456789abcdef.1.log");
}

TEST(Page, StaysWithinSizeBudget) {
  std::vector<PlannedCase> cases;
  std::vector<Event> events = {RunPlanned{}};
  for (int i = 0; i < 3000; ++i) {
    const std::string id = "memory.xpu/Copy." + sha256_hex(std::to_string(i));
    cases.push_back(planned(id));
    events.emplace_back(started(id));
    AttemptEnded end = ended(id, {i % 2 == 0 ? Outcome::kFail : Outcome::kPass, ""});
    if (i % 2 == 0) end.failures.push_back({"", sha256_hex(id) + sha256_hex("x" + id), "", 0, "", "", ""});
    events.emplace_back(end);
  }
  events.front() = plan_of(cases);
  const ResolvedRun model = resolved_of(events);
  PageRequest request{.runs = {{.resolved = model}}, .budget = 3'200'000};
  const std::string page = page_of(request);
  EXPECT_LE(page.size(), request.budget);
  EXPECT_THAT(between(page, "id=\"left-out\">", "</p>"), HasSubstr("cases are not in the list"));
  const json list = block_of(page, "list");
  for (std::size_t i = 0; i < list["id"].size(); ++i)
    EXPECT_EQ(at(list, "failed", i), 1);  // passed cases are omitted first
  request.budget = kPageBytes;
  EXPECT_EQ(between(page_of(request), "id=\"left-out\">", "</p>"), "");
}

TEST(Page, ListsChangesFromEarlierRun) {
  const ResolvedRun before = resolved_of(one_bad());
  const ResolvedRun after = resolved_of([] {
    std::vector<Event> events = one_bad();
    std::get<AttemptEnded>(events[2]).verdict =
        std::get<CaseEnded>(events[3]).verdict = {Outcome::kCrash, {Reason::kSignal, 11}};
    return events;
  }());
  const RunResults old = results_of(before);
  const RunResults now = results_of(after);
  const Comparison comparison = compare(old, now);
  PageRequest request;
  request.runs.push_back({.resolved = after, .changes = PageChanges{old, comparison}});
  const std::string page = page_of(request);
  const std::string changes = between(page, "What changed</h2>", "</section>");
  EXPECT_THAT(changes, HasSubstr("regression: 1</summary>"));
  EXPECT_THAT(changes, HasSubstr("pass → crash · SIGSEGV"));
  const json list = block_of(page, "list");
  EXPECT_EQ(at(list, "isNew", 0), 1);
  EXPECT_EQ(at(list, "isNew", 1), 0);
}

TEST(Page, ReportsUnchangedRunInOneLine) {
  const ResolvedRun model = resolved_of(one_bad());
  const RunResults results = results_of(model);
  const Comparison nothing = compare(results, results);
  PageRequest request;
  request.runs.push_back({.resolved = model, .changes = PageChanges{results, nothing}});
  EXPECT_THAT(page_of(request), HasSubstr("<p>Nothing: 2 cases ended as before, 1 of them failing.</p>"));
}

TEST(Page, ShowsAgeOfFailures) {
  const ResolvedRun model = resolved_of(one_bad());
  Past past;
  past.runs = {{.run_id = "a", .started = "2026-01-01T00:00:00Z"},
               {.run_id = "b", .started = "2026-01-02T00:00:00Z", .stack = "xpu.driver 1 -> 2"},
               {.run_id = "c", .started = "2026-01-03T00:00:00Z"}};
  const PastOutcome pass{.outcome = Outcome::kPass, .result_class = ResultClass::kPassing};
  const PastOutcome fail{.run = 1, .outcome = Outcome::kFail, .result_class = ResultClass::kFailing};
  const PastOutcome skip{.run = 2, .outcome = Outcome::kSkip, .result_class = ResultClass::kNotrun};
  past.cases = {{pass}, {pass, fail, skip}};
  past.flakiness = {std::nullopt, Flakiness{.runs = 10, .inconsistent_runs = 2, .low = 0.05, .high = 0.5}};
  PageRequest request;
  request.runs.push_back({.resolved = model, .past = &past});
  const std::string page = page_of(request);
  EXPECT_THAT(page, HasSubstr("2026-01-02 00:00:00 UTC <small>2 runs</small>"));
  const json list = block_of(page, "list");
  EXPECT_EQ(at(list, "age", 1), 2);
  EXPECT_EQ(at(list, "flaky", 1), 200);
  EXPECT_EQ(at(list, "flaky", 0), -1);
  EXPECT_EQ(block_of(page, "past")["runs"][0][1][4], "xpu.driver 1 -> 2");
}

TEST(Page, ShowsPeakTelemetryOfDevice) {
  std::vector<Event> events = one_bad();
  TelemetryFigure figure{};
  figure.name = "temperature";
  for (const std::size_t at : {2, 5}) {
    figure.peak = 60.0 + static_cast<double>(at);
    std::get<AttemptEnded>(events[at]).telemetry.devices = {{"xpu:0000:03:00.0", {figure}}};
  }
  const std::string devices = between(page_of(resolved_of(events)), "Devices</h2>", "</section>");
  EXPECT_THAT(devices, HasSubstr("data-label=\"Peaks\">65 C</td>"));
}

TEST(Page, ShowsSeveralRunsAsOne) {
  const ResolvedRun good = resolved_of([] {
    std::vector<Event> events = {plan_of({planned("memory.xpu/Copy.Good")})};
    events.emplace_back(started("memory.xpu/Copy.Good"));
    events.emplace_back(ended("memory.xpu/Copy.Good", {Outcome::kPass, ""}));
    events.emplace_back(concluded("memory.xpu/Copy.Good", {Outcome::kPass, ""}));
    events.emplace_back(RunEnded{"2026-01-31T12:00:05Z", 5000});
    return events;
  }());
  const ResolvedRun bad = resolved_of(one_bad());
  PageRequest request;
  request.runs.push_back({.resolved = good, .link = "../a/"});
  request.runs.push_back({.resolved = bad});
  const std::string page = page_of(request);
  EXPECT_THAT(page, HasSubstr("Failed: 1 of 3 cases</h1>"));
  EXPECT_THAT(page, HasSubstr("href=\"../a/index.html\""));
  const json list = block_of(page, "list");
  EXPECT_EQ(list["id"].size(), 3U);
  EXPECT_EQ(at(list, "run", 0), 0);
  EXPECT_EQ(at(list, "run", 2), 1);
}

TEST(Page, SortsKnownFailuresByDaysLeft) {
  std::vector<Event> events = one_bad();
  std::get<RunPlanned>(events[0]).known_failures =
      KnownFailuresFile{"known.toml",
                        "ff",
                        {{"known.toml:1", {"*Bad"}, "seen <here>", "i/1", "us", "2026-01-01", "2026-02-02"},
                         {"known.toml:9", {"x"}, "other", "", "", "", "2026-01-30"}}};
  std::get<AttemptEnded>(events[5]).verdict = {Outcome::kXfail, ""};
  CaseEnded& end = std::get<CaseEnded>(events[6]);
  end.verdict = {Outcome::kXfail, ""};
  end.known_failure = "seen <here>";
  end.known_failure_location = "known.toml:1";
  const std::string known = between(page_of(resolved_of(events)), "Known failures</h2>", "</section>");
  std::size_t last = 0;
  for (const std::string_view part :
       {"expired 1 day before", "2026-01-30", "known.toml:9", "other", "no case failed so", "2 days left",
        "2026-02-02", "known.toml:1", "seen &lt;here&gt;, i/1", "us", "memory.xpu/Copy.Bad"}) {
    const std::size_t here = known.find(part, last);
    ASSERT_NE(here, std::string::npos) << part << " in " << known;
    last = here;
  }
  EXPECT_THAT(page_of(resolved_of(one_bad())), Not(HasSubstr("Known failures</h2>")));
}

TEST(Page, ListsBuiltInKnownFailuresBySource) {
  std::vector<Event> events = one_bad();
  std::get<AttemptEnded>(events[5]).verdict = {Outcome::kXfail, ""};
  CaseEnded& end = std::get<CaseEnded>(events[6]);
  end.verdict = {Outcome::kXfail, ""};
  end.known_failure = "intel/compute-runtime 22.43";
  const std::string known = between(page_of(resolved_of(events)), "Known failures</h2>", "</section>");
  EXPECT_THAT(known, HasSubstr("intel/compute-runtime 22.43"));
  EXPECT_THAT(known, HasSubstr("memory.xpu/Copy.Bad"));
}

TEST(Page, ReportsRunWithoutCases) {
  const std::string page = page_of(resolved_of({plan_of({}), RunEnded{"2026-01-31T12:00:05Z", 1}}));
  EXPECT_THAT(page, HasSubstr("No case was planned."));
  EXPECT_EQ(block_of(page, "list")["id"], json::array());
}

TEST(PageLogs, ReadsOnlyOwnFilesInRunDirectory) {
  TempDir directory;
  const fs::path run = directory.path() / "run";
  fs::create_directories(run / "logs");
  write_file(directory.path() / "secret", "secret\n");
  write_file(run / "logs/mine.log", "mine\n");
  fs::create_symlink(directory.path() / "secret", run / "logs/link.log");
  fs::create_directory_symlink(directory.path(), run / "aside");
  fs::create_directories(run / "logs/directory.log");
  ASSERT_EQ(::mkfifo((run / "logs/pipe.log").c_str(), 0600), 0);
  const RunFiles files(run);
  ASSERT_TRUE(files.tail("logs/mine.log", 100));
  EXPECT_EQ(files.tail("logs/mine.log", 100)->text, "mine\n");
  for (const char* name :
       {"logs/link.log", "aside/secret", "../secret", "logs/directory.log", "logs/pipe.log", "logs/none", ""})
    EXPECT_FALSE(files.tail(name, 100)) << name;
  EXPECT_FALSE(files.tail(directory.path() / "secret", 100));
  EXPECT_FALSE(RunFiles("").tail("logs/mine.log", 100));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown((run / "logs/mine.log").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(files.tail("logs/mine.log", 100)) << "another user's";
}

TEST(PageText, FileAddressStaysInRunDirectory) {
  EXPECT_EQ(file_address("logs/a b[1].log"), "logs/a%20b%5B1%5D.log");
  EXPECT_EQ(file_address("javascript:alert(1)"), "javascript%3Aalert%281%29");
  EXPECT_EQ(file_address("/etc/passwd"), "");
  EXPECT_EQ(file_address("logs/../../x"), "");
}

TEST(PageText, LinksFromPageToRunDirectory) {
  TempDir directory;
  fs::create_directories(directory.path() / "out/run 1");
  EXPECT_EQ(page_link(directory.path() / "out", directory.path() / "out"), "");
  EXPECT_EQ(page_link(directory.path() / "out", directory.path() / "out/run 1"), "run%201/");
  EXPECT_EQ(page_link(directory.path() / "pages", directory.path() / "out"), "../out/");
}

TEST(PageParts, TableOmitsEmptyColumns) {
  PageTable table({"A", "B", "#C"});
  table.add({"a", "", 1});
  table.add({"b", nullptr, nullptr});
  const json view = table.view();
  const json columns = {{{"label", "A"}, {"n", false}}, {{"label", "C"}, {"n", true}}};
  EXPECT_EQ(view["columns"], columns);
  EXPECT_EQ(view["rows"][0]["cells"][1]["text"], 1);
  EXPECT_EQ(view["rows"][1]["cells"][1]["none"], true);
  EXPECT_EQ(PageTable({"A"}).view(), nullptr);
}

// Collects the names that sections provide and that templates use. Mustache shows nothing for an unknown name, and
// ignores an unused field.
class PageNames {
 public:
  void add(const PageRequest& request) {
    const std::vector<PageCase> cases = page_cases(request);
    const PageData data = page_data(request, cases, request.budget);
    const PageView view{.request = request, .cases = cases, .data = data};
    for (const PageSection& section : page_sections()) {
      given_.emplace(section.name);
      add_fields(section.view(view));
    }
  }
  const std::set<std::string>& given() const { return given_; }

 private:
  void add_fields(const json& value) {
    if (value.is_object()) {
      for (const auto& [name, field] : value.items()) given_.insert(name);
    }
    if (!value.is_structured()) return;
    for (const json& field : value) add_fields(field);
  }

  std::set<std::string> given_{"base64", "first", "script", "script_digest", "style", "style_digest"};
};

std::set<std::string> names_in(std::string_view text, const std::string& pattern) {
  const std::string all(text);
  const std::regex name(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator found(all.begin(), all.end(), name), end; found != end; ++found)
    names.insert((*found)[1]);
  return names;
}

// Returns the names that are only in the first set.
std::set<std::string> only_in(const std::set<std::string>& names, const std::set<std::string>& others) {
  std::set<std::string> only;
  std::ranges::set_difference(names, others, std::inserter(only, only.end()));
  return only;
}

TEST(PageTemplate, UsesExactlyTheProvidedFields) {
  const ResolvedRun before = resolved_of(one_bad());
  const ResolvedRun rich = resolved_of([] {
    std::vector<Event> events = rich_journal();
    auto& plan = std::get<RunPlanned>(events.front());
    plan.sim = SimInfo{"xpu:1", "simgpu"};
    plan.shard = PlannedShard{1, 2};
    plan.containment.not_guaranteed = {"x"};
    plan.fingerprint.emplace_back().name = "nobody knows";
    for (Event& event : events) {
      if (auto* end = std::get_if<CaseEnded>(&event)) end->known_failure = "x";
    }
    return events;
  }());
  const RunResults old = results_of(before);
  const RunResults now = results_of(rich);
  const Comparison same = compare(old, old);
  Comparison changed = compare(old, now);
  changed.changes.push_back({.before = 0, .after = 0, .measures = {{"bandwidth", "GB/s", 1, 2}}});
  changed.only_before.emplace_back();
  const Past past;
  const PageGate gate{
      .relaxations = {{}},
      .journals = {""},
      .cells = {{.rules = {{.rule = "failed"}}}},
      .failed = {{.rule = "failed", .reasons = {"x"}, .cases = std::vector<std::string>(20)}}};
  const PageCoverage coverage{.rules = {{.id = "x"}, {.id = "y", .checks = {{}}}}};
  PageNames names;
  names.add({.runs = {{.resolved = rich, .changes = PageChanges{old, changed}}},
             .gate = &gate,
             .coverage = &coverage});
  names.add({.runs = {{.resolved = before, .past = &past}}});
  names.add(
      {.runs = {{.resolved = before, .link = "", .changes = PageChanges{old, same}}, {.resolved = rich}},
       .sibling_files = {"report.json"}});
  AcceptReport accept{.devices = {{.id = "a", .verdict = RunVerdict::kFailed, .next = "proctor accept"},
                                  {.id = "b", .next = "Ask the vendor."}}};
  accept.devices.front().findings.resize(2);
  accept.devices.front().steps.resize(1);
  accept.devices.front().figures.resize(1);
  names.add({.runs = {{.resolved = before, .accept = {.report = accept, .warning = "x"}}}});
  const std::set<std::string> shown = names_in(page_template(), R"(\{\{[#^/{]?(\w+)\}\})");
  EXPECT_THAT(only_in(shown, names.given()), testing::IsEmpty());
  EXPECT_THAT(only_in(names.given(), shown), testing::IsEmpty());
}

TEST(PageTemplate, EscapesAndTruncatesTextOnce) {
  const auto page = [](const std::string& text) {
    const PageFill fill{
        .sections = [&text](const std::string& name) { return name == "title" ? json(text) : json(); },
        .raw = [](const std::string&) { return nullptr; }};
    std::size_t written = 0;
    const std::string all = text_of([&](TextOutput& output) { fill_page(fill, output, written); });
    EXPECT_EQ(all.size(), written);
    return between(all, "<title>", " · Proctor</title>");
  };
  EXPECT_EQ(page("&amp; <b> \"'"), "&amp;amp; &lt;b&gt; &quot;&#39;");
  EXPECT_EQ(page("a\n\tb\xe2\x80\xae{{title}}\x01"), page_line("a\n\tb\xe2\x80\xae{{title}}\x01"));
  EXPECT_EQ(page(std::string(1000, 'x')).size(), 400U);
}

}  // namespace
}  // namespace proctor
