#include "harness/devices/telemetry/tool_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(ToolTable, WhatAToolDoesNotSayIsMissingWithItsWords) {
  const auto table = parse(kNvidia, nvidia_smi());
  EXPECT_EQ(value(table, 1, Metric::kMemoryUsed).value, 3.0 * 1024 * 1024) << "the row is kept";
  for (const Metric metric :
       {Metric::kTemperature, Metric::kPower, Metric::kClock, Metric::kThrottle, Metric::kEccErrors}) {
    EXPECT_FALSE(value(table, 1, metric).value) << to_string(metric);
    EXPECT_THAT(value(table, 1, metric).reason, HasSubstr("nvidia-smi says")) << to_string(metric);
    EXPECT_EQ(value(table, 1, metric).source, "") << to_string(metric);
  }
}

// Headers as several releases print them; the columns move and change their names.
TEST(ToolTable, ReadsXpuSmiByNameInAnyOrder) {
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
      parse("DeviceId, GPU Utilisation (%), GPU Power (W)\n0, 50, 120\n", xpu_smi());  // not its spelling
  EXPECT_THAT(table.unknown, ElementsAre("memory_used", "utilisation", "temperature", "clock"));
  EXPECT_EQ(value(table, 0, Metric::kPower).value, 120);
  EXPECT_EQ(value(table, 0, Metric::kUtilisation).reason, "its column is not in the table of xpu-smi");
  EXPECT_EQ(value(table, 0, Metric::kEccErrors).reason, "xpu-smi does not offer it");
}

TEST(ToolTable, UnitsAndNumbersThatAreUnknownAreMissing) {
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

TEST(ToolTable, OtherTextsAreErrors) {
  for (const char* text :
       {"", "\n\n", "No devices were found\n", "a,b,c\n1,2,3\n", ",,,,\n", "\x01\xff,\n"}) {
    EXPECT_FALSE(parse_tool_table(text, nvidia_smi())) << text;
    EXPECT_FALSE(parse_tool_table(text, xpu_smi())) << text;
  }
  EXPECT_FALSE(parse_tool_table("memory.used [MiB]\n5 MiB\n", nvidia_smi())) << "whose is it?";
}

}  // namespace
}  // namespace proctor
