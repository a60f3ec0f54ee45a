// Benchmarks reading the journal of a large run and writing its reports: `reports_bench CASES PERCENT_BAD DIRECTORY`.
// It writes a journal like that of a real run. For each step it prints the seconds (the minimum of three) and the
// process's peak memory as JSON. `gate` reads the run as a gate does, with all its reports in the run directory. Each
// step runs in its own process, so that memory is measured per step.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "harness/base/read_file.h"
#include "harness/base/replace_file.h"
#include "harness/journal/journal_chain.h"
#include "reports/gate/journal_proof.h"
#include "reports/render.h"
#include "reports/resolve/run_resolver.h"
#include "reports/resolve/run_results.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr int kDevices = 4;
constexpr int kRounds = 3;

class JournalFile {
 public:
  explicit JournalFile(FileReplacement file) : file_(std::move(file)) {}
  void add(const Event& event) { file_.add(chain_.append(to_json_line(event))); }
  bool put() { return file_.put().ok(); }

 private:
  FileReplacement file_;
  JournalChain chain_;
};

std::string device_id(int index) {
  return fmt::format("cuda:GPU-0000000{}-1111-2222-3333-444444444444", index);
}

std::string case_id(int index) {
  return fmt::format("attention/tests/gpu/test_moe_{}.py::test_big[fp16-{}]", index / 500, index);
}

RunPlanned plan_of(int cases) {
  RunPlanned plan;
  plan.run_id = "20260131T120000Z-bench";
  plan.started = "2026-01-31T12:00:00Z";
  plan.plan_digest = std::string(64, 'a');
  plan.containment.layer = "cgroup";
  for (int i = 0; i < kDevices; ++i) {
    plan.devices.push_back(
        {.id = device_id(i), .backend = "cuda", .name = "NVIDIA H100 PCIe", .pci = "0000:4d:00.0"});
  }
  plan.suites.push_back({.name = "attention", .backend = "cuda", .kind = "pytest", .command = {"pytest"}});
  plan.cases.reserve(static_cast<std::size_t>(cases));
  for (int i = 0; i < cases; ++i) {
    plan.cases.push_back({.id = case_id(i),
                          .suite = "attention",
                          .backend = "cuda",
                          .kind = "pytest",
                          .classname = fmt::format("tests.gpu.test_moe_{}", i / 500),
                          .name = fmt::format("test_big[fp16-{}]", i),
                          .devices = 1,
                          .timeout_ms = 60000});
  }
  return plan;
}

TelemetryFigure figure(const char* name, const char* unit, double value) {
  return {.name = name,
          .unit = unit,
          .source = "nvml",
          .samples = 12,
          .first = value,
          .last = value + 1,
          .mean = value + 0.5,
          .peak = value + 2,
          .delta = {},
          .seen = {},
          .note = {}};
}

void add_case(JournalFile& journal, int index, bool bad) {
  const std::string id = case_id(index);
  const std::string device = device_id(index % kDevices);
  AttemptStarted start;
  start.case_id = id;
  start.at_ms = index;
  start.devices = {device};
  start.log =
      fmt::format("logs/attention.cuda/tests_gpu_test_moe_{}_py_test_big_fp16-{}.1.log", index / 500, index);
  start.environment = {{"CUDA_VISIBLE_DEVICES", device.substr(5), "proctor"}};
  AttemptEnded end;
  end.case_id = id;
  end.at_ms = index + 40;
  end.duration_ms = 40 + index % 17;
  end.verdict = {bad ? Outcome::kFail : Outcome::kPass, ""};
  end.exit_code = bad ? 1 : 0;
  end.output.log = start.log;
  end.output.bytes = 400;
  end.telemetry.host = {figure("cpu_time", "s", 0.4)};
  end.telemetry.devices = {
      {device, {figure("memory_used", "bytes", 4096.0 * index), figure("temperature", "C", 48)}}};
  if (bad) {
    end.output.stderr_tail = fmt::format("E   AssertionError: {} is not close to {}\n", index, index + 1);
    end.failures.push_back({.rule = {},
                            .message = fmt::format("AssertionError: {} is not close", index),
                            .file = "tests/gpu/test_moe.py",
                            .line = 40 + index % 90,
                            .expected = std::to_string(index),
                            .got = std::to_string(index + 1),
                            .device = device});
  }
  const Verdict verdict = end.verdict;
  journal.add(start);
  journal.add(end);
  journal.add(CaseEnded{id, verdict, {}, {}, {}});
}

bool write_journal(const fs::path& path, int cases, int percent_bad) {
  auto file = FileReplacement::open(path.string());
  if (!file) return false;
  JournalFile journal(*std::move(file));
  journal.add(plan_of(cases));
  for (int i = 0; i < cases; ++i) add_case(journal, i, i % 100 < percent_bad);
  journal.add(RunEnded{"2026-01-31T13:00:00Z", cases});
  return journal.put();
}

// Truncates the journal to `bytes` and appends the record of rendered files, as a runner does.
bool end_journal(const fs::path& path, std::uintmax_t bytes, const RenderedFiles& rendered) {
  fs::resize_file(path, bytes);
  const auto text = read_file(path.string());
  if (!text) return false;
  JournalChain chain;
  chain.add(*text);
  std::ofstream file(path, std::ios::app);
  file << chain.append(rendered_record(rendered));
  return file.flush().good();
}

struct Cost {
  double seconds = 1e9;
  double mib = 0;
};

Cost cost_of(const std::function<bool()>& step) {
  Cost cost;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child == 0) _exit(step() ? 0 : 1);
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
      std::fprintf(stderr, "reports_bench: a step failed\n");
      std::exit(1);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    cost.seconds = std::min(cost.seconds, took.count());
    cost.mib = std::max(cost.mib, static_cast<double>(usage.ru_maxrss) / 1024);
  }
  return cost;
}

std::string entry(const char* name, const Cost& cost) {
  return fmt::format(R"("{}": {{"seconds": {:.3f}, "mib": {:.1f}}})", name, cost.seconds, cost.mib);
}

int measure(int cases, int percent_bad, const fs::path& directory) {
  const fs::path journal = directory / "journal.jsonl";
  if (!write_journal(journal, cases, percent_bad)) return 1;
  const Cost load = cost_of([&] { return load_journal(journal).ok(); });
  const Cost results = cost_of([&] {
    auto model = load_journal(journal);
    return model && results_of(*model).cases.size() == static_cast<std::size_t>(cases);
  });
  const auto formats = [&](const ReportFormats& list) {
    return cost_of([&] {
      const auto model = load_journal(journal);
      return model && render(*model, directory, list).ok();
    });
  };
  const Cost all = formats(*parse_formats("all"));
  const Cost usual = formats(default_formats());
  const auto bytes = fs::file_size(journal);
  cost_of([&] {
    const auto model = load_journal(journal);
    const auto rendered = model ? render(*model, directory, *parse_formats("all")) : model.error();
    return rendered && end_journal(journal, bytes, *rendered);
  });
  const Cost gate = cost_of([&] {
    const auto report = read_gate_report(directory, "bench");
    return report && report->flaws.empty() && report->other_files.empty();
  });
  std::printf("{%s, %s, %s, %s, %s, \"journal_bytes\": %ju, \"report_json_bytes\": %ju}\n",
              entry("load", load).c_str(), entry("results", results).c_str(),
              entry("default_formats", usual).c_str(), entry("all_formats", all).c_str(),
              entry("gate", gate).c_str(), bytes,
              static_cast<std::uintmax_t>(fs::file_size(directory / "report.json")));
  return 0;
}

}  // namespace
}  // namespace proctor

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: reports_bench CASES PERCENT_BAD DIRECTORY\n");
    return 2;
  }
  return proctor::measure(std::atoi(argv[1]), std::atoi(argv[2]), argv[3]);
}
