#include "reports/resolve/run_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "reports/formats/formats.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;

TEST(RunMemory, ResolvesSameAsCompleteJournal) {
  std::vector<Event> events = rich_journal();
  RunMemory memory;
  for (const Event& event : events) memory.on(event);
  EXPECT_EQ(report_json(memory.resolve()), report_json(resolved_of(events)));
  EXPECT_EQ(memory.elapsed_ms(), memory.resolve().elapsed_ms);
  EXPECT_EQ(memory.was_stopped(), memory.resolve().stop.has_value());
  events.emplace_back(Warning{WarningCode::kReportNotWritten, "a disk was full"});
  memory.on(events.back());
  EXPECT_EQ(report_json(memory.resolve()), report_json(resolved_of(events)));
}

TEST(RunMemory, LateRecordChangesExitCode) {
  RunMemory memory;
  memory.on(plan_of({planned("s/a")}));
  memory.on(ended("s/a", {Outcome::kPass, ""}));
  memory.on(concluded("s/a", {Outcome::kPass, ""}));
  EXPECT_EQ(memory.resolve().exit_code_so_far, 0);
  EXPECT_EQ(memory.resolve().exit_code, 3) << "the run has no end";
  memory.on(RunEnded{"2026-01-31T12:00:01Z", 1000});
  EXPECT_EQ(memory.resolve().exit_code, 0);
  memory.on(Warning{WarningCode::kReportNotWritten, "a disk was full"});
  EXPECT_EQ(memory.resolve().exit_code, 75);
  EXPECT_EQ(memory.resolve().problems.front().name, "report_not_written");
}

TelemetryFigure figure(const std::string& name, double value) {
  TelemetryFigure figure;
  figure.name = name;
  figure.unit = "bytes";
  figure.source = "nvml";
  figure.samples = 12;
  figure.first = value;
  figure.last = value + 4096;
  figure.mean = value + 1234.5;
  figure.peak = value + 8192;
  return figure;
}

// A case that passes and prints output, with random figures that do not compress well.
void pass(RunMemory& memory, int number, std::mt19937& random) {
  const std::string id = fmt::format("attention/tests/test_moe.py::test_big[fp16-{}]", number);
  const auto value = [&random] { return static_cast<double>(random() % 1'000'000) * 4096; };
  AttemptEnded end = ended(id, {Outcome::kPass, ""});
  end.at_ms = number * 40;
  end.duration_ms = static_cast<std::int64_t>(random() % 1000);
  end.output.stdout_tail = std::string(4096, 'x') + std::to_string(random());
  end.telemetry.host = {figure("memory", value())};
  end.telemetry.devices = {{"xpu:0000:03:00.0", {figure("memory_used", value()), figure("power", value())}}};
  memory.on(started(id));
  memory.on(end);
  memory.on(concluded(id, {Outcome::kPass, ""}));
}

TEST(RunMemory, PassedCaseTakesAtMost300Bytes) {
  for (const int cases : {1'000, 10'000}) {
    std::mt19937 random(1);
    RunMemory memory;
    for (int i = 0; i < cases; ++i) pass(memory, i, random);
    EXPECT_LE(memory.held(), static_cast<std::size_t>(cases) * 300) << cases;
    EXPECT_GT(memory.held(), 0u);
  }
}

}  // namespace
}  // namespace proctor
