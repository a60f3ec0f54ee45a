#include "harness/plan/known_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/test_support.h"
#include "harness/testing/mutations.h"

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Day kToday = 2026y / 11 / 21;

constexpr const char* kList = R"(
[[known_failure]]
case = "visibility.xpu/AffinityMask.*"
reason = "driver_crash:*"
driver = "xpu.driver"
versions = ">=22.43, <22.44"
device = "*B580*"
backend = "xpu"
source = "seen"
issue = "https://bugs.example/1"
owner = "us"
added = 2027-04-30
expires = 2027-06-30
broad = true
predicted = true

[[known_failure]]
case = "other/*"
outcome = "timeout"
reason = "*"
source = "seen too"
expires = 2026-11-20
)";

KnownFailures parsed(const std::string& text) {
  const Result<KnownFailures> list = parse_known_failures(text, "known.toml");
  EXPECT_TRUE(list) << list.error().what;
  return *list;
}

Surroundings driver(const std::string& name, const std::string& version) {
  return {.stack = {{name, version}}, .backend = "xpu", .models = {"Intel Arc B580 Graphics"}};
}
const Surroundings kHere = driver("xpu.driver", "22.43.24595.41");

TEST(KnownFailures, ReadsEveryKey) {
  const KnownFailures list = parsed(kList);
  ASSERT_EQ(list.entries().size(), 2u);
  const KnownFailure& first = list.entries()[0];
  EXPECT_EQ(first.outcome, Outcome::kFail);
  EXPECT_EQ(first.owner, "us");
  EXPECT_EQ(first.source, "seen");
  EXPECT_EQ(first.expires, 2027y / 6 / 30);
  EXPECT_EQ(first.origin, "known.toml:2");
  EXPECT_EQ(first.line, 2);
  EXPECT_EQ(first.device, "*B580*");
  EXPECT_EQ(first.backend, "xpu");
  EXPECT_EQ(first.issue, "https://bugs.example/1");
  EXPECT_EQ(first.added, 2027y / 4 / 30);
  EXPECT_TRUE(first.broad);
  EXPECT_TRUE(first.predicted);
  EXPECT_FALSE(list.entries()[1].broad || list.entries()[1].predicted);
  EXPECT_FALSE(list.entries()[1].added);
  EXPECT_EQ(list.entries()[1].outcome, Outcome::kTimeout);
}

TEST(KnownFailures, AppliesOnlyToNamedDriver) {
  const KnownFailures list = parsed(kList);
  const std::string id = "visibility.xpu/AffinityMask.3_x";
  EXPECT_TRUE(list.match(id, kHere, kToday));
  EXPECT_FALSE(list.match(id, driver("xpu.driver", "22.44.1"), kToday));
  EXPECT_FALSE(list.match(id, driver("xpu.driver", "22.9"), kToday));
  EXPECT_FALSE(list.match(id, driver("xpu.driver", "unknown"), kToday));
  EXPECT_FALSE(list.match(id, driver("cuda.driver", "22.43"), kToday));
  EXPECT_FALSE(list.match(id, {}, kToday));
  EXPECT_FALSE(list.match("visibility.xpu/Device.X", kHere, kToday));
}

TEST(KnownFailures, AppliesOnlyToNamedDevicesAndBackend) {
  const KnownFailures list = parsed(kList);
  const std::string id = "visibility.xpu/AffinityMask.3_x";
  const auto holds_on = [&](const std::vector<std::string>& models, const std::string& backend = "xpu") {
    Surroundings where = kHere;
    where.models = models;
    where.backend = backend;
    return list.match(id, where, kToday) != nullptr;
  };
  EXPECT_TRUE(holds_on({"Intel Arc B580 Graphics"}));
  EXPECT_TRUE(holds_on({"Intel Arc A770", "Intel Arc B580 Graphics"})) << "one of the cards that it had";
  EXPECT_FALSE(holds_on({"Intel Arc A770"}));
  EXPECT_FALSE(holds_on({})) << "it had no device";
  EXPECT_FALSE(holds_on({"Intel Arc B580 Graphics"}, "cuda"));
}

TEST(KnownFailures, AcceptsCaseListAndIssueSource) {
  const KnownFailures list = parsed(
      "[[known_failure]]\ncase = [\"a/x\", \"a/y*\", \"a/z\"]\nreason = \"\"\nissue = \"i\"\nexpires = "
      "2027-01-01\n");
  const KnownFailure& entry = list.entries().at(0);
  EXPECT_TRUE(entry.names("a/x"));
  EXPECT_TRUE(entry.names("a/y2"));
  EXPECT_FALSE(entry.names("a/z2"));
  EXPECT_EQ(entry.source, "i");
  EXPECT_EQ(entry.cases_text(), "`a/x` and 2 more");
  const KnownFailureEntry event = to_event(entry);
  EXPECT_EQ(event.at, "known.toml:1");
  EXPECT_EQ(event.cases, entry.cases);
  EXPECT_EQ(event.added, "");
  EXPECT_EQ(event.expires, "2027-01-01");
}

TEST(KnownFailures, LastDayStillCounts) {
  const KnownFailures list = parsed(kList);
  EXPECT_TRUE(list.match("other/x", {}, 2026y / 11 / 20));
  EXPECT_FALSE(list.match("other/x", {}, 2026y / 11 / 21));
}

TEST(KnownFailures, WarnsAboutUnusedAndExpiredEntries) {
  const KnownFailures list = parsed(kList);
  const std::vector<Warning> warnings = list.warnings({"other/x"}, kToday);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].code, WarningCode::kKnownFailureUnused);
  EXPECT_EQ(warnings[0].text,
            "known.toml:2: known failure `visibility.xpu/AffinityMask.*` matches no planned case");
  EXPECT_EQ(warnings[1].code, WarningCode::kKnownFailureExpired);
  EXPECT_EQ(warnings[1].text,
            "known.toml:17: known failure `other/*` expired on 2026-11-20 and no longer counts");
  EXPECT_TRUE(list.warnings({"other/x", "visibility.xpu/AffinityMask.1"}, 2026y / 1 / 1).empty());
}

// The test applies an entry that expects fail(driver_crash:*) to every outcome, with the expected and with
// another reason.
TEST(KnownFailures, MapsEveryOutcomeToVerdict) {
  KnownFailure known;
  known.outcome = Outcome::kFail;
  known.reason_glob = "driver_crash:*";
  for (Outcome outcome : kAllOutcomes) {
    for (const std::string& reason : {std::string("driver_crash:11"), std::string("rule"), std::string()}) {
      const Verdict before{outcome, reason_in_words(reason)};
      Verdict expected = before;
      if (outcome == Outcome::kPass) expected.outcome = Outcome::kXpass;
      if (outcome == Outcome::kFail && reason == "driver_crash:11") expected.outcome = Outcome::kXfail;
      EXPECT_EQ(apply(&known, before), expected) << to_string(before);
      EXPECT_EQ(apply(nullptr, before), before);
    }
  }
}

TEST(KnownFailures, PredictedFailureMayPass) {
  KnownFailure known;
  known.reason_glob = "driver_crash:*";
  known.predicted = true;
  known.driver = "xpu.driver";
  known.issue = "https://bugs.example/1";
  known.owner = "us";
  known.origin = "known.toml:2";
  const auto said = [&](const Verdict& verdict) { return unmet_prediction(&known, verdict, "a/b", kHere); };
  const Verdict passed{Outcome::kPass, ""};
  EXPECT_EQ(apply(&known, passed), passed);
  EXPECT_EQ(said(passed),
            "a/b: the failure that known.toml:2 predicts did not happen on xpu.driver 22.43.24595.41. Please "
            "report this result to us (https://bugs.example/1)");
  const Verdict failed{Outcome::kFail, reason_in_words("driver_crash:11")};
  const Verdict other{Outcome::kFail, reason_in_words("rule")};
  EXPECT_EQ(apply(&known, failed).outcome, Outcome::kXfail);
  EXPECT_EQ(apply(&known, other), other) << "another reason stays red";
  EXPECT_EQ(said(failed), "");
  EXPECT_EQ(said(other), "");
  known.predicted = false;
  EXPECT_EQ(said(passed), "");
  EXPECT_EQ(unmet_prediction(nullptr, passed, "a/b", kHere), "");
}

TEST(KnownFailures, XfailWithoutReasonNamesTheOutcome) {
  KnownFailure known;
  known.outcome = Outcome::kTimeout;
  known.reason_glob = "*";
  EXPECT_EQ(to_string(apply(&known, {Outcome::kTimeout, ""})), "xfail(timeout)");
}

constexpr const char* kNeeded =
    "An entry needs at least case = \"memory.xpu/Copy.*\", reason = \"*\", expires = 2027-06-30, and a "
    "source "
    "or an "
    "issue.";

struct BadList {
  const char* name;
  const char* lines;  // added to a complete entry; with a leading '!' they replace it
  const char* what;
  const char* hint;
};

class BadListTest : public testing::TestWithParam<BadList> {};

TEST_P(BadListTest, IsRefused) {
  const std::string lines = GetParam().lines;
  const std::string entry = "[[known_failure]]\ncase = \"x\"\nreason = \"\"\nsource = \"s\"\n";
  const Result<KnownFailures> list =
      parse_known_failures(lines[0] == '!' ? lines.substr(1) : entry + lines, "known.toml");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(list.error().what, GetParam().what);
  EXPECT_EQ(list.error().hint, GetParam().hint);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadListTest,
    testing::Values(
        BadList{"NoExpiry", "owner = \"me\"\n", "known.toml:1: [[known_failure]] needs the key `expires`",
                kNeeded},
        BadList{"ExpiryText", "expires = \"2027-01-01\"\n",
                "known.toml:5: `expires` in [[known_failure]] is \"2027-01-01\", but must be a date",
                "Write expires = 2027-06-30, without quotes."},
        BadList{"UnknownKey", "expire = 2027-01-01\n",
                "known.toml:5: unknown key `expire` in [[known_failure]]", "Did you mean `expires`?"},
        BadList{"UnknownTable", "![[known_failures]]\n",
                "known.toml:1: unknown key `known_failures` in the top level",
                "Did you mean `known_failure`?"},
        BadList{"Outcome", "expires = 2027-01-01\noutcome = \"crashed\"\n",
                "known.toml:6: `outcome` in [[known_failure]] is \"crashed\", but must be one of fail, "
                "error, "
                "timeout, stall, crash, device_lost",
                "Did you mean `crash`?"},
        BadList{"DriverAlone", "expires = 2027-01-01\ndriver = \"xpu.driver\"\n",
                "known.toml:6: `driver` and `versions` must be given together",
                "Write driver = \"xpu.driver\" and versions = \">=22.43, <22.44\"."},
        BadList{"VersionsAlone", "expires = 2027-01-01\nversions = \">=1\"\n",
                "known.toml:6: `driver` and `versions` must be given together",
                "Write driver = \"xpu.driver\" and versions = \">=22.43, <22.44\"."},
        BadList{"AddedText", "expires = 2027-01-01\nadded = 2026\n",
                "known.toml:6: `added` in [[known_failure]] is 2026, but must be a date",
                "Write added = 2027-06-30, without quotes."},
        BadList{"NoSource", "![[known_failure]]\ncase = \"x\"\nreason = \"\"\nexpires = 2027-01-01\n",
                "known.toml:1: [[known_failure]] needs the key `source`", kNeeded},
        BadList{"NothingBesideTheCase", "![[known_failure]]\ncase = \"x\"\n",
                "known.toml:1: [[known_failure]] needs the keys `reason`, `expires`, `source`", kNeeded},
        BadList{"NoCase",
                "![[known_failure]]\ncase = []\nreason = \"\"\nsource = \"s\"\nexpires = 2027-01-01\n",
                "known.toml:2: `case` in [[known_failure]] is an empty list",
                "Write at least one id, or a glob over the ids."},
        BadList{
            "CaseNumber",
            "![[known_failure]]\ncase = [\"a\", 7]\nreason = \"\"\nsource = \"s\"\nexpires = 2027-01-01\n",
            "known.toml:2: `case` in [[known_failure]] contains 7, but takes only strings in quotes", ""},
        BadList{"Backend", "expires = 2027-01-01\nbackend = \"xpus\"\n",
                "known.toml:6: `backend` in [[known_failure]] is \"xpus\", but must be one of cuda, "
                "xpu, none",
                "Did you mean `xpu`?"},
        BadList{"NearKey", "expires = 2027-01-01\ndevices = \"*\"\n",
                "known.toml:6: unknown key `devices` in [[known_failure]]", "Did you mean `device`?"},
        BadList{"Broad", "expires = 2027-01-01\nbroad = \"yes\"\n",
                "known.toml:6: `broad` in [[known_failure]] is \"yes\", but must be true or false", ""},
        BadList{"Versions", "expires = 2027-01-01\ndriver = \"d\"\nversions = \"22.43\"\n",
                "known.toml:7: failed to read version range \"22.43\": \"22.43\" has no operator",
                "Write conditions such as \">=22.43, <22.44\"."}),
    [](const auto& row) { return row.param.name; });

TEST(KnownFailures, EmptyFileIsAnEmptyList) { EXPECT_TRUE(parsed("").entries().empty()); }

TEST(KnownFailures, MissingFileIsAUsageError) {
  const Result<KnownFailures> list = load_known_failures("no/such/list.toml");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(list.error().what, HasSubstr("read no/such/list.toml: No such file"));
}

TEST(KnownFailures, EveryMutationParsesOrNamesLine) {
  testing_support::for_each_mutation(kList, ".[]=\"\n", [](const std::string& mutant) {
    const auto list = parse_known_failures(mutant, "known.toml");
    if (list) return;
    ASSERT_EQ(list.error().kind, ErrorKind::kUsage) << mutant;
    ASSERT_THAT(list.error().what, testing::ContainsRegex("known.toml:[0-9]+")) << mutant;
  });
}

}  // namespace
}  // namespace proctor
