// Tests the sampler with scripts on PATH in place of a vendor's tool.

#include "harness/devices/telemetry/tool_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kNvidia =
    "uuid, memory.used [MiB], utilization.gpu [%], temperature.gpu, power.draw [W], clocks.current.sm [MHz], "
    "clocks_throttle_reasons.active, ecc.errors.uncorrected.volatile.total\n"
    "GPU-a, 1024 MiB, 97 %, 61, 288.21 W, 1410 MHz, 0x0000000000000044, 2\n"
    "GPU-b, 3 MiB, 0 %, [N/A], [Not Supported], Not Supported, N/A, [N/A]\n";

MetricReading value(const ToolTable& table, std::size_t row, Metric metric) {
  return reading(table.rows.at(row).values, metric);
}

ToolTable parse(const std::string& text, const ToolDialect& dialect) {
  auto table = parse_tool_table(text, dialect);
  EXPECT_TRUE(table) << table.error().what;
  return table ? *table : ToolTable{};
}

TEST(ToolTable, ReadsNvidiasTable) {
  const auto table = parse(kNvidia, nvidia_smi());
  EXPECT_THAT(table.unknown, IsEmpty());
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].key, "GPU-a");
  EXPECT_EQ(value(table, 0, Metric::kMemoryUsed).value, 1024.0 * 1024 * 1024);
  EXPECT_EQ(value(table, 0, Metric::kMemoryUsed).source, "nvidia-smi");
  EXPECT_EQ(value(table, 0, Metric::kUtilisation).value, 97);
  EXPECT_EQ(value(table, 0, Metric::kTemperature).value, 61);
  EXPECT_EQ(value(table, 0, Metric::kPower).value, 288.21);
  EXPECT_EQ(value(table, 0, Metric::kClock).value, 1410);
  EXPECT_THAT(value(table, 0, Metric::kThrottle).words, ElementsAre("software_power_cap", "thermal_limit"));
  EXPECT_EQ(value(table, 0, Metric::kEccErrors).value, 2);
}

TEST(ToolTable, MissingValuesQuoteToolOutput) {
  const auto table = parse(kNvidia, nvidia_smi());
  EXPECT_EQ(value(table, 1, Metric::kMemoryUsed).value, 3.0 * 1024 * 1024) << "the row is kept";
  for (const Metric metric :
       {Metric::kTemperature, Metric::kPower, Metric::kClock, Metric::kThrottle, Metric::kEccErrors}) {
    EXPECT_FALSE(value(table, 1, metric).value) << to_string(metric);
    EXPECT_THAT(value(table, 1, metric).reason, HasSubstr("nvidia-smi says")) << to_string(metric);
    EXPECT_EQ(value(table, 1, metric).source, "") << to_string(metric);
  }
}

// Headers of several releases: columns move and change their names.
TEST(ToolTable, ParsesXpuSmiColumnsByName) {
  for (const char* text :
       {"Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), GPU Core Temperature "
        "(Celsius Degree), GPU Memory Used (MiB)\n12:00:00.000,    0, 12.50, 126.37, 1600, 48.00, 512.00\n",
        "Timestamp, DeviceId, Average % utilization of all GPU Engines (%), GPU Power (W), GPU Frequency "
        "(MHz), GPU Core Temperature (Celsius Degree), GPU Memory Used (MiB)\n12:00:00.000, 0, 12.50, "
        "126.37, "
        "1600, 48.00, 512.00\n",
        "GPU Memory Used (MiB), GPU Core Temperature (Celsius Degree), GPU Frequency (MHz), GPU Power (W), "
        "DeviceId, GPU Utilization (%)\n512.00, 48.00, 1600, 126.37, 0, 12.50\n",
        "warning: something first\nDeviceId, GPU Utilization (%), GPU Power (mW), GPU Frequency (GHz), GPU "
        "Core Temperature (C), GPU Memory Used (KiB)\n0, 12.50, 126370, 1.6, 48, 524288\n"}) {
    const auto table = parse(text, xpu_smi());
    ASSERT_EQ(table.rows.size(), 1u) << text;
    EXPECT_THAT(table.unknown, IsEmpty()) << text;
    EXPECT_EQ(value(table, 0, Metric::kUtilisation).value, 12.5) << text;
    EXPECT_DOUBLE_EQ(value(table, 0, Metric::kPower).value.value_or(0), 126.37) << text;
    EXPECT_EQ(value(table, 0, Metric::kClock).value, 1600) << text;
    EXPECT_EQ(value(table, 0, Metric::kTemperature).value, 48) << text;
    EXPECT_EQ(value(table, 0, Metric::kMemoryUsed).value, 512.0 * 1024 * 1024) << text;
  }
}

TEST(ToolTable, AMissingOrRenamedColumnIsNamed) {
  const auto table =
      parse("DeviceId, GPU Utilisation (%), GPU Power (W)\n0, 50, 120\n", xpu_smi());  // a different spelling
  EXPECT_THAT(table.unknown, ElementsAre("memory_used", "utilisation", "temperature", "clock"));
  EXPECT_EQ(value(table, 0, Metric::kPower).value, 120);
  EXPECT_EQ(value(table, 0, Metric::kUtilisation).reason, "its column is not in the table of xpu-smi");
  EXPECT_EQ(value(table, 0, Metric::kEccErrors).reason, "xpu-smi does not offer it");
}

TEST(ToolTable, RejectsUnknownUnitsAndNumbers) {
  struct Row {
    const char* header;
    const char* cell;
    const char* reason;
  };
  for (const auto& [header, cell, reason] :
       {Row{"GPU Power (BTU)", "7", "unknown unit"}, Row{"GPU Power", "7", "unknown unit"},
        Row{"GPU Power (W)", "7 hp", "unknown unit"}, Row{"GPU Power (W)", "warm", "not a number"},
        Row{"GPU Power (W)", "nan", "not a number"}, Row{"GPU Power (W)", "inf", "not a number"},
        Row{"GPU Power (W)", "", "says ``"}, Row{"GPU Power (W)", "-", "says `-`"},
        Row{"GPU Power (W)", "n/a", "says `n/a`"}, Row{"GPU Power (W)", "NA", "says `NA`"},
        Row{"GPU Power (W)", "7, 8", "2 columns"}}) {
    const auto table = parse(std::string("DeviceId, ") + header + "\n0, " + cell + "\n", xpu_smi());
    ASSERT_EQ(table.rows.size(), 1u);
    EXPECT_FALSE(value(table, 0, Metric::kPower).value) << header << cell;
    EXPECT_THAT(value(table, 0, Metric::kPower).reason, HasSubstr(reason)) << header << cell;
  }
}

TEST(ToolTable, RejectsInvalidTables) {
  for (const char* text :
       {"", "\n\n", "No devices were found\n", "a,b,c\n1,2,3\n", ",,,,\n", "\x01\xff,\n"}) {
    EXPECT_FALSE(parse_tool_table(text, nvidia_smi())) << text;
    EXPECT_FALSE(parse_tool_table(text, xpu_smi())) << text;
  }
  EXPECT_FALSE(parse_tool_table("memory.used [MiB]\n5 MiB\n", nvidia_smi())) << "whose is it?";
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kHeader =
    "uuid, memory.used [MiB], utilization.gpu [%], temperature.gpu, power.draw [W], clocks.current.sm [MHz], "
    "clocks_throttle_reasons.active, ecc.errors.uncorrected.volatile.total";

class Tool : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "tool-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }

  // Creates a script as the tool. Its commands are found next to the script and in /bin; `exec </dev/null` is
  // a shell built-in.
  void install(const std::string& name, const std::string& script) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncd " << directory_ << "\n" << script << "\n";
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
  }

  // Takes `times` samples, one after the other.
  std::vector<Result<Sample>> sample(const ToolDialect& dialect, const std::vector<std::string>& ids,
                                     int times = 1, Milliseconds deadline = Milliseconds(60'000)) {
    boost::asio::io_context io;
    ToolSampler tool(io, *containment_, dialect,
                     {.env = {"PATH=" + directory_ + ":/usr/bin:/bin"}, .deadline = deadline});
    std::vector<Result<Sample>> seen;
    std::function<void()> next = [&] {
      tool.sample(ids, [&](const Result<Sample>& one) {
        for (auto& warning : tool.take_warnings())
          warnings_.push_back(warning.code.text() + ": " + warning.text);
        seen.push_back(one);
        if (static_cast<int>(seen.size()) < times) next();
      });
    };
    next();
    io.run();
    return seen;
  }

  std::uintmax_t calls() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(directory_ + "/calls", none);
    return none ? 0 : size / 2;
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
  std::vector<std::string> warnings_;
};

TEST_F(Tool, OneCallSamplesAllRequestedNvidiaDevices) {
  install("nvidia-smi", std::string("echo x >>calls; echo '") + kHeader +
                            "'; echo 'GPU-a, 5 MiB, 1 %, 40, 7 W, 9 MHz, 0x0, 0'; "
                            "echo 'GPU-b, 6 MiB, 1 %, 40, 7 W, 9 MHz, 0x0, 0'; "
                            "echo 'GPU-other, 7 MiB, 1 %, 40, 7 W, 9 MHz, 0x0, 0'");
  const auto seen = sample(nvidia_smi(), {"cuda:GPU-b", "cuda:GPU-a"});
  ASSERT_TRUE(seen[0]) << seen[0].error().what;
  EXPECT_EQ(seen[0]->devices.size(), 2u);
  EXPECT_EQ(reading(seen[0]->devices.at("cuda:GPU-a"), Metric::kMemoryUsed).value, 5.0 * 1024 * 1024);
  EXPECT_EQ(reading(seen[0]->devices.at("cuda:GPU-b"), Metric::kMemoryUsed).value, 6.0 * 1024 * 1024);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(calls(), 1u);
}

// The numbers belong to the device that was used, not to device 0.
TEST_F(Tool, QueriesXpuSmiByPciAddress) {
  install("xpu-smi",
          "[ \"$1 $2\" = 'dump -d' ] || exit 9\n"
          "case $3 in 0000:03:00.0) memory=3;; 0000:9a:00.0) memory=154;; esac\n"
          "echo 'DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), GPU Core Temperature "
          "(Celsius Degree), GPU Memory Used (MiB)'; echo \"0, 1, 2, 3, 4, $memory\"");
  const auto seen = sample(xpu_smi(), {"xpu:0000:9a:00.0", "xpu:0000:03:00.0"});
  ASSERT_TRUE(seen[0]) << seen[0].error().what;
  EXPECT_EQ(reading(seen[0]->devices.at("xpu:0000:03:00.0"), Metric::kMemoryUsed).value, 3.0 * 1024 * 1024);
  EXPECT_EQ(reading(seen[0]->devices.at("xpu:0000:9a:00.0"), Metric::kMemoryUsed).value, 154.0 * 1024 * 1024);
}

TEST_F(Tool, HangingToolIsKilledAndNotRetried) {
  install("nvidia-smi", "echo x >>calls; trap '' TERM; while :; do sleep 1000; done");
  const auto seen = sample(nvidia_smi(), {"cuda:GPU-a"}, 3, Milliseconds(1'000));
  for (const auto& one : seen) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().what, "nvidia-smi did not respond within 1s and was killed");
  }
  EXPECT_EQ(calls(), 1u);
  EXPECT_THAT(warnings_, ElementsAre("telemetry_timeout: nvidia-smi did not respond within 1s and was "
                                     "killed; it is not queried again, and its values are missing"));
}

TEST_F(Tool, EndlessOutputEndsAtDeadline) {
  install("nvidia-smi", "exec yes");
  const auto seen = sample(nvidia_smi(), {"cuda:GPU-a"}, 1, Milliseconds(1'000));
  EXPECT_FALSE(seen[0]);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("telemetry_timeout: ")));
}

TEST_F(Tool, AbsentToolCausesNoWarning) {
  boost::asio::io_context io;
  ToolSampler tool(io, *containment_, xpu_smi(), {.env = {"PATH=" + directory_}});
  std::string why;
  tool.sample({"xpu:0000:03:00.0"}, [&](const Result<Sample>& one) { why = one ? "" : one.error().what; });
  io.run();
  EXPECT_EQ(why, "xpu-smi is not on PATH");
  EXPECT_THAT(tool.take_warnings(), IsEmpty());
}

TEST_F(Tool, UnknownTableWarnsOnceAndDisablesTool) {
  install("nvidia-smi", "echo x >>calls; echo 'NVIDIA-SMI has failed: \\033[31mno\\001'");
  const auto seen = sample(nvidia_smi(), {"cuda:GPU-a"}, 2);
  EXPECT_FALSE(seen[0]);
  EXPECT_FALSE(seen[1]);
  EXPECT_EQ(calls(), 1u);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("telemetry_table: nvidia-smi prints an unknown table")));
}

TEST_F(Tool, MissingColumnWarnsOnceAndKeepsOthers) {
  install("nvidia-smi", "echo x >>calls; echo 'power.draw [W], uuid, fan [%]'; echo '7 W, GPU-a, 3 %'");
  const auto seen = sample(nvidia_smi(), {"cuda:GPU-a"}, 2);
  ASSERT_TRUE(seen[1]) << seen[1].error().what;
  EXPECT_EQ(reading(seen[1]->devices.at("cuda:GPU-a"), Metric::kPower).value, 7);
  EXPECT_EQ(reading(seen[1]->devices.at("cuda:GPU-a"), Metric::kClock).reason,
            "its column is not in the table of nvidia-smi");
  EXPECT_EQ(calls(), 2u);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("telemetry_table: nvidia-smi prints a table without "
                                               "memory_used, utilisation, temperature, clock")));
}

TEST_F(Tool, WarnsAboutFailedTool) {
  install("nvidia-smi", "echo 'No devices were found'; exit 6");
  EXPECT_FALSE(sample(nvidia_smi(), {"cuda:GPU-a"})[0]);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("telemetry_tool: nvidia-smi ended with exit code 6")));
}

}  // namespace
}  // namespace proctor
