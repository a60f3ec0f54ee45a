#include "reports/resolve/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/text.h"

namespace proctor {
namespace {

TEST(UtcStamp, RejectsInvalidDatesAndFormats) {
  EXPECT_TRUE(is_utc_stamp("2026-01-31T12:00:00Z"));
  for (const char* text :
       {"", "2026-01-31", "2026-02-30T12:00:00Z", "2026-99-99T12:00:00Z", "2026-01-31T24:00:00Z",
        "2026-01-31 12:00:00Z", "2026-01-31T12:00:00", "2026-01-31T12:00:00.0Z"}) {
    EXPECT_FALSE(is_utc_stamp(text)) << text;
    EXPECT_EQ(unix_ms(text), 0) << text;
  }
  EXPECT_EQ(unix_ms("1970-01-02T00:00:01Z"), 86'401'000);
  EXPECT_EQ(unix_ms("2026-01-31T12:00:00Z"), 1'769'860'800'000);
}

TelemetryFigure figure(const std::string& name) {
  TelemetryFigure figure;
  figure.name = name;
  return figure;
}

TEST(TelemetryText, SummarizesNotableFigures) {
  TelemetryInfo telemetry;
  auto memory = figure("memory_used");
  memory.peak = 3.0 * 1024 * 1024 * 1024;
  auto busy = figure("utilisation");
  busy.mean = 97.4;
  busy.peak = 100;
  auto clock = figure("clock");
  clock.peak = 1500;
  auto throttle = figure("throttle");
  throttle.seen = {"average_power_cap", "thermal_limit"};
  auto errors = figure("ecc_errors");
  errors.delta = 2;
  auto cpu = figure("cpu_time");
  cpu.delta = 3.14;
  auto host = figure("host_memory");
  host.peak = 512 << 20;
  telemetry.devices = {{"xpu:0000:03:00.0", {memory, busy, figure("temperature"), clock, throttle, errors}}};
  telemetry.host = {cpu, host};
  EXPECT_EQ(telemetry_text(telemetry),
            "xpu:0000:03:00.0: memory up to 3.0 GiB, 97 % busy, held back by average_power_cap, "
            "thermal_limit, 2 uncorrected errors; host: 3.1 s CPU, 512 MiB");
}

TEST(TelemetryText, IsEmptyWithoutFigures) {
  TelemetryInfo telemetry;
  telemetry.devices = {{"xpu-sim:0", {figure("memory_used"), figure("throttle")}}};
  telemetry.host = {figure("cpu_time"), figure("host_memory")};
  EXPECT_EQ(telemetry_text(telemetry), "");
  EXPECT_EQ(telemetry_text({}), "");
}

TEST(OneLine, CollapsesWhiteSpaceAndMarksTruncation) {
  EXPECT_EQ(one_line("", 10), "");
  EXPECT_EQ(one_line(" \n ", 10), "");
  EXPECT_EQ(one_line("\n a\r\n\tb  c \n", 10), "a b c");
  EXPECT_EQ(both_ends("list  `./t`: it wrote", 100), "list `./t`: it wrote");
  EXPECT_EQ(both_ends("a long command: warning: warning: the reason", 24), "a lon...ning: the reason");
  EXPECT_EQ(both_ends("0123456789 0123456789\xe2\x82\xac"
                      "0123456789",
                      15),
            "01...0123456789");
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line("012345 \xe2\x82\xac", 10), "012345 \xe2\x82\xac");
  EXPECT_EQ(one_line("012345\xe2\x82\xac xx", 10), "012345...");
  EXPECT_EQ(one_line(std::string(1 << 20, 'x'), 200).size(), 200u);
}

TEST(ElideMiddle, KeepsHeadAndTailWithByteCount) {
  const std::string fits(kShownHeadBytes + kShownTailBytes, 'x');
  EXPECT_EQ(elide_middle(fits), fits);
  const std::string shortened = elide_middle("HEAD" + fits + "TAIL");
  EXPECT_TRUE(shortened.starts_with("HEADx"));
  EXPECT_TRUE(shortened.ends_with("xTAIL"));
  EXPECT_THAT(shortened, ::testing::HasSubstr("\n[proctor: 8 bytes cut here]\n"));
}

TEST(ElideMiddle, NeverCutsInsideCharacter) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    while (text.size() < 100'000) text += "\xf0\x9f\x98\x80";
    const std::string shortened = elide_middle(text);
    EXPECT_EQ(clean_text(shortened), shortened) << shift;
    EXPECT_LE(shortened.size(), kShownHeadBytes + kShownTailBytes + 64);
  }
}

}  // namespace

}  // namespace proctor
