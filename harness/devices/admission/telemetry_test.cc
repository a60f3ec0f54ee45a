// Tests telemetry with shell scripts in place of a probe and a vendor's tool. No test sleeps: a script
// creates a file when it reaches a step.

#include "harness/devices/admission/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/process/containment.h"
#include "harness/process/host_usage.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MetricReading of(double value, const std::string& source = "sysman") {
  MetricReading read;
  read.value = value;
  read.source = source;
  return read;
}

TelemetryFigure figure(const TelemetryWindow& window, Metric metric) {
  return window.figures()[static_cast<std::size_t>(metric)];
}

TelemetryWindow window_of(Metric metric, const std::vector<double>& values, const std::string& source) {
  TelemetryWindow window;
  for (const double value : values) {
    auto sample = missing_sample("not this");
    reading(sample, metric) = of(value, source);
    window.add(sample);
  }
  return window;
}

TEST(TelemetryWindow, GaugesHaveFirstLastMeanAndPeak) {
  const auto memory = figure(window_of(Metric::kMemoryUsed, {1, 7, 4}, "sysman"), Metric::kMemoryUsed);
  EXPECT_EQ(memory.name, "memory_used");
  EXPECT_EQ(memory.unit, "bytes");
  EXPECT_EQ(memory.source, "sysman");
  EXPECT_EQ(memory.samples, 3);
  EXPECT_EQ(memory.first, 1);
  EXPECT_EQ(memory.last, 4);
  EXPECT_EQ(memory.mean, 4);
  EXPECT_EQ(memory.peak, 7);
  EXPECT_FALSE(memory.delta);
  EXPECT_EQ(memory.note, "");
}

TEST(TelemetryWindow, ReturnsLastValueWhileOpen) {
  const auto window = window_of(Metric::kTemperature, {40, 70, 55}, "sysman");
  EXPECT_EQ(window.last(Metric::kTemperature), 55);
  EXPECT_EQ(window.last(Metric::kUtilisation), std::nullopt);
}

// Activity that Sysman counted before the case began does not belong to the case.
TEST(TelemetryWindow, IgnoresFirstRateOfCounter) {
  const auto busy = figure(window_of(Metric::kUtilisation, {100, 20, 40}, "sysman"), Metric::kUtilisation);
  EXPECT_EQ(busy.samples, 2);
  EXPECT_EQ(busy.first, 20);
  EXPECT_EQ(busy.peak, 40);
  const auto once = figure(window_of(Metric::kPower, {100}, "sysman"), Metric::kPower);
  EXPECT_FALSE(once.peak);
  EXPECT_EQ(once.note, "a rate needs two samples");
  const auto instant = figure(window_of(Metric::kPower, {100}, "nvml"), Metric::kPower);
  EXPECT_EQ(instant.peak, 100);
}

TEST(TelemetryWindow, CountsOnlyGrowthOfErrorCounter) {
  const auto errors = figure(window_of(Metric::kEccErrors, {5, 5, 8}, "nvml"), Metric::kEccErrors);
  EXPECT_EQ(errors.delta, 3);
  EXPECT_FALSE(errors.peak);
}

TEST(TelemetryWindow, ThrottleReasonsAreCollected) {
  TelemetryWindow window;
  for (const auto& words : {std::vector<std::string>{"b"}, {}, {"a", "b"}}) {
    auto sample = missing_sample("not this");
    reading(sample, Metric::kThrottle) = of(static_cast<double>(words.size()));
    reading(sample, Metric::kThrottle).words = words;
    window.add(sample);
  }
  const auto throttle = figure(window, Metric::kThrottle);
  EXPECT_THAT(throttle.seen, ElementsAre("a", "b"));
  EXPECT_EQ(throttle.samples, 3);
  EXPECT_FALSE(throttle.peak);
}

TEST(TelemetryWindow, EveryMissingFigureHasReason) {
  TelemetryWindow window;
  ASSERT_THAT(window.figures(), Not(IsEmpty()));
  for (const auto& figure : window.figures())
    EXPECT_THAT(figure.note, HasSubstr("before a sample")) << figure.name;
  window.add(missing_sample("zesEngineGetActivity: UNSUPPORTED"));
  for (const auto& figure : window.figures()) {
    EXPECT_EQ(figure.note, "zesEngineGetActivity: UNSUPPORTED") << figure.name;
    EXPECT_EQ(figure.source, "") << figure.name;
    EXPECT_FALSE(figure.first || figure.last || figure.mean || figure.peak || figure.delta) << figure.name;
  }
  window.miss("it hangs");
  EXPECT_EQ(window.figures().front().note, "it hangs");
}

TEST(TelemetryWindow, KeepsFigureWhenOthersAreMissing) {
  const auto window = window_of(Metric::kPower, {70, 80}, "xpu-smi");
  EXPECT_EQ(figure(window, Metric::kPower).peak, 80);
  EXPECT_EQ(figure(window, Metric::kClock).note, "not this");
}

TEST(HostFigures, NoteRusageCoversOnlyLeader) {
  const auto figures = host_figures(with_leader({}, 1'500'000, 2048), false);
  EXPECT_EQ(figures[0].delta, 1.5);
  EXPECT_EQ(figures[0].source, "rusage");
  EXPECT_THAT(figures[0].note, HasSubstr("leader"));
  EXPECT_EQ(figures[1].peak, 2048 * 1024);
  EXPECT_THAT(figures[1].note, HasSubstr("leader"));
}

TEST(HostFigures, CgroupFiguresCoverWholeTree) {
  HostUsage usage;
  usage.cpu_s = 2;
  usage.cpu_source = "cgroup";
  const auto figures = host_figures(with_leader(usage, 1'500'000, 2048), false);
  EXPECT_EQ(figures[0].delta, 2);
  EXPECT_EQ(figures[0].source, "cgroup");
  EXPECT_EQ(figures[1].source, "rusage") << "a cgroup without the memory controller";
}

TEST(HostFigures, AreEmptyForSharedProcess) {
  for (const auto& figure : host_figures(with_leader({}, 1, 1), true)) {
    EXPECT_FALSE(figure.delta || figure.peak);
    EXPECT_EQ(figure.note, "its process ran other cases, too");
  }
  for (const auto& figure : host_figures({}, false)) EXPECT_NE(figure.note, "");
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFirst = "xpu:0000:03:00.0";
constexpr const char* kSecond = "xpu:0000:9a:00.0";

class Warnings : public EventSink {
 public:
  void on(const Event& event) override {
    if (const auto* warning = std::get_if<Warning>(&event))
      texts.push_back(warning->code.text() + ": " + warning->text);
  }
  std::vector<std::string> texts;
};

class TelemetryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(std::nullopt, "telemetry-test-" + std::to_string(getpid()));
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = *std::move(opened);
  }
  void TearDown() override {
    if (telemetry_) {
      telemetry_->stop([this] { monitor_->stop([this] { io_.stop(); }); });
      io_.restart();
      io_.run();
    }
    telemetry_.reset();
    monitor_.reset();
  }

  // The script of the probe runs `on_sample` for each request. Its variables are $n, the number of the
  // request, and $asked, its 17 bytes.
  void begin(const std::string& on_sample, int rate = 100, Milliseconds deadline = Milliseconds(60'000)) {
    const std::string loop = "n=0; while asked=$(head -c17) && [ -n \"$asked\" ]; do n=$((n+1)); " +
                             on_sample + "; touch done$n; done <$2";
    monitor_ = std::make_unique<DeviceMonitor>(
        io_, *containment_,
        MonitorSetup{{{.argv = {"/bin/sh", "-c", "cd " + directory_ + "; " + loop, "probe"},
                       .env = {"PATH=/usr/bin:/bin"},
                       .fifo = directory_ + "/fifo",
                       .ids = {kFirst, kSecond},
                       .deadline = deadline,
                       .sample_deadline = deadline}}});
    telemetry_ = std::make_unique<Telemetry>(
        io_, *containment_, monitor_.get(),
        TelemetrySetup{.rate = rate,
                       .tool = {.env = {"PATH=" + directory_ + ":/usr/bin:/bin"}, .deadline = deadline},
                       .on_silence = [this](const std::vector<std::string>& devices,
                                            const std::string&) { silent_ = devices; }},
        warnings_);
  }
  static std::string answer(const std::string& devices, const std::string& problem = "") {
    return R"(printf '%s\n' "{\"v\":1,\"source\":\"sysman\",\"problem\":\")" + problem +
           R"(\",\"devices\":[)" + devices + R"(]}" >&$PROCTOR_EVENTS_FD)";
  }
  static std::string device(int index, const std::string& metric, const std::string& value) {
    return R"({\"device\":)" + std::to_string(index) + R"(,\"values\":{\")" + metric + R"(\":)" + value +
           R"(},\"missing\":{}})";
  }
  void install(const std::string& name, const std::string& script) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\ncd " << directory_ << "\n" << script << "\n";
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(directory_ + "/" + file); }
  template <typename Condition>
  void run_until(Condition condition) {
    while (!condition()) io_.run_one_for(std::chrono::milliseconds(10));
  }
  static const TelemetryFigure& figure(const DeviceTelemetry& device, Metric metric) {
    return device.figures.at(static_cast<std::size_t>(metric));
  }

  TempDir scratch_;
  const std::string directory_ = scratch_.string();
  std::unique_ptr<Containment> containment_;
  boost::asio::io_context io_;
  Warnings warnings_;
  std::vector<std::string> silent_;
  std::unique_ptr<DeviceMonitor> monitor_;
  std::unique_ptr<Telemetry> telemetry_;
};

TEST_F(TelemetryTest, EachCaseGetsFiguresOfLeasedDevice) {
  begin("echo $asked >>asked; " +
        answer(device(0, "memory_used", "$n") + "," + device(1, "memory_used", "$((1000+n))")));
  const auto one = telemetry_->begin({kFirst});
  const auto two = telemetry_->begin({kSecond});
  run_until([&] { return exists("done4"); });
  const auto first = telemetry_->end(one, "a");
  const auto second = telemetry_->end(two, "b");
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].device, kFirst);
  EXPECT_EQ(second[0].device, kSecond);
  EXPECT_EQ(figure(first[0], Metric::kMemoryUsed).first, 1);
  EXPECT_EQ(figure(second[0], Metric::kMemoryUsed).first, 1001);
  EXPECT_GE(figure(first[0], Metric::kMemoryUsed).samples, 3);
  EXPECT_EQ(*figure(first[0], Metric::kMemoryUsed).peak + 1000, figure(second[0], Metric::kMemoryUsed).peak);
  EXPECT_EQ(figure(first[0], Metric::kClock).note, "the driver does not report it");
  EXPECT_THAT(warnings_.texts, IsEmpty());
  std::ifstream asked(directory_ + "/asked");
  std::string question;
  asked >> question;
  EXPECT_EQ(question, "s0000000000000003") << "both devices, in the probe's order";
}

TEST_F(TelemetryTest, TakesNoSamplesWithoutDevicesOrRate) {
  begin(answer(""), 0);
  const auto off = telemetry_->begin({kFirst});
  io_.run();
  EXPECT_THAT(telemetry_->end(off, "a"), IsEmpty());
  const auto without_devices = telemetry_->begin({});
  io_.restart();
  io_.run();
  EXPECT_THAT(telemetry_->end(without_devices, "a"), IsEmpty());
  EXPECT_FALSE(exists("done1"));
}

TEST_F(TelemetryTest, SamplingEndsWithTheLastCase) {
  begin(answer(device(0, "clock", "5")));
  const auto window = telemetry_->begin({kFirst});
  run_until([&] { return exists("done2"); });
  telemetry_->end(window, "a");
  // would never end while samples are requested
  while (io_.run_one_for(std::chrono::milliseconds(300)) > 0) {
  }
  const auto again = telemetry_->begin({kFirst});
  const auto figures = telemetry_->end(again, "a");
  EXPECT_EQ(figure(figures[0], Metric::kClock).note, "the case ended before a sample was taken");
}

TEST_F(TelemetryTest, ReportsHangOnceWithoutDelayingSnapshots) {
  begin("exec sleep 1000", 100, Milliseconds(300));
  const auto window = telemetry_->begin({kFirst});
  run_until([&] { return !warnings_.texts.empty(); });
  EXPECT_THAT(warnings_.texts, ElementsAre(HasSubstr("telemetry_timeout: ")));
  EXPECT_THAT(silent_, ElementsAre(kFirst)) << "the devices of running cases";
  std::string answer;
  monitor_->take_snapshot(
      [&](const DeviceMonitor::Snapshot& seen) { answer = seen ? "answered" : seen.error().what; });
  run_until([&] { return !answer.empty(); });
  const auto figures = telemetry_->end(window, "a");
  for (const auto& one : figures[0].figures) {
    EXPECT_THAT(one.note, HasSubstr("did not respond within 300ms")) << one.name;
    EXPECT_FALSE(one.first) << one.name;
  }
  EXPECT_EQ(warnings_.texts.size(), 1u);
}

TEST_F(TelemetryTest, UsesToolWhenLibraryIsMissing) {
  install("xpu-smi", "echo 'DeviceId, GPU Power (W)'; echo '0, 75'; touch tool$(ls | grep -c tool)");
  begin(answer("", "symbol_missing:zesDeviceEnumMemoryModules"));
  const auto window = telemetry_->begin({kFirst});
  run_until([&] { return exists("tool0") && !warnings_.texts.empty(); });
  const auto figures = telemetry_->end(window, "a");
  EXPECT_EQ(figure(figures[0], Metric::kPower).peak, 75);
  EXPECT_EQ(figure(figures[0], Metric::kPower).source, "xpu-smi");
  EXPECT_THAT(figure(figures[0], Metric::kClock).note, HasSubstr("not in the table"));
  EXPECT_THAT(warnings_.texts, ElementsAre(HasSubstr("telemetry_table: ")));
}

TEST_F(TelemetryTest, ReasonNamesMissingLibraryAndTool) {
  begin(answer("", "symbol_missing:zesDeviceEnumMemoryModules"));
  TelemetrySource source(io_, *containment_, "xpu", monitor_.get(),
                         {.env = {"PATH=" + directory_}, .deadline = Milliseconds(60'000)});
  std::vector<std::string> why;
  std::function<void()> request = [&] {
    source.sample({kFirst}, [&](const Result<Sample>& sample) {
      why.push_back(sample ? "" : sample.error().what);
      if (why.size() < 2) request();
    });
  };
  request();
  run_until([&] { return why.size() == 2; });
  for (const auto& one : why)
    EXPECT_EQ(one, "symbol_missing:zesDeviceEnumMemoryModules; xpu-smi is not on PATH");
  EXPECT_THAT(source.take_warnings(), IsEmpty()) << "an absent tool is a fact";
}

TEST_F(TelemetryTest, CallsNoToolForSimulatedDevices) {
  install("xpu-smi", "touch called; echo 'DeviceId, GPU Power (W)'; echo '0, 75'");
  TelemetrySource source(
      io_, *containment_, "xpu", nullptr,
      {.env = {"PATH=" + directory_ + ":/usr/bin:/bin"}, .deadline = Milliseconds(60'000)});
  std::string why;
  source.sample({"xpu-sim:0"},
                [&](const Result<Sample>& sample) { why = sample ? "" : sample.error().what; });
  io_.run();
  EXPECT_THAT(why, HasSubstr("no tool supports simulated devices"));
  EXPECT_FALSE(exists("called"));
}

TEST_F(TelemetryTest, WarnsAboutNewDeviceErrors) {
  begin(answer(device(0, "ecc_errors", "$((n*2))")));
  const auto window = telemetry_->begin({kFirst});
  run_until([&] { return exists("done3"); });
  const auto figures = telemetry_->end(window, "suite/case");
  EXPECT_GT(*figure(figures[0], Metric::kEccErrors).delta, 0);
  EXPECT_THAT(warnings_.texts,
              ElementsAre(testing::AllOf(HasSubstr("device_errors: xpu:0000:03:00.0 counted"),
                                         HasSubstr("during suite/case"))));
}

}  // namespace
}  // namespace proctor
