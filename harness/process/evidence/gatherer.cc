#include "harness/process/evidence/gatherer.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "harness/process/contained_process.h"

namespace proctor {
namespace {

// The first bytes of lines. Clean text does not contain them.
constexpr char kEnd = '\f';
constexpr char kCoreProgram = '\v';
constexpr char kFrame = '\x1d';  // also between the function and its location

StackFrame frame_from(std::string_view text) {
  const std::size_t between = text.find(kFrame);
  if (between == text.npos) return {.function = std::string(text), .location = ""};
  return {.function = std::string(text.substr(0, between)),
          .location = std::string(text.substr(between + 1))};
}

void add_line(EvidenceDigest& digest, const std::string& line) {
  const std::string_view rest = std::string_view(line).substr(line.empty() ? 0 : 1);
  if (line.starts_with(kCoreProgram)) {
    digest.core_program = rest;
  } else if (line.starts_with(kFrame)) {
    digest.frame = frame_from(rest);
  } else {
    digest.lines.push_back(line);
  }
}

}  // namespace

std::string to_text(const EvidenceDigest& digest) {
  std::string text;
  for (const std::string& line : digest.lines) text += line + '\n';
  if (digest.frame) text += kFrame + digest.frame->function + kFrame + digest.frame->location + '\n';
  if (!digest.core_program.empty()) text += kCoreProgram + digest.core_program + '\n';
  return text + kEnd + '\n';
}

EvidenceDigest last_digest(std::string_view text) {
  EvidenceDigest complete;
  EvidenceDigest current;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kEnd)) {
      complete = std::exchange(current, {});
    } else {
      add_line(current, line);
    }
  }
  return complete;
}

namespace {

constexpr std::size_t kMaxKernelLines = 50;  // the newest ones; each is an argument
constexpr std::size_t kMaxKernelBytes = 1000;
constexpr Milliseconds kReapEvidence{2'000};  // the case waits for this time
constexpr Milliseconds kOwnBudget{4'500};     // budget of the child, which reports unfinished steps itself

std::string problem_of(const ProcessEnd& end) {
  if (end.spawn_error)
    return "cannot be started: " + Error::system(end.spawn_error->step, end.spawn_error->err).what;
  if (end.cause == EndCause::kTimeout) return "was not complete after " + human_duration(kEvidenceLimit);
  if (end.exit_code == 0) return "";
  const std::string& said = end.output.stderr_tail;
  return said.empty() ? "failed: no reason given" : "failed: " + said;
}

std::vector<std::string> with_program(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program);
  return arguments;
}

Gathered gathered_from(const ProcessEnd& end) {
  return {.digest = last_digest(end.kept_stdout), .problem = problem_of(end)};
}

std::shared_ptr<ContainedProcess> start(boost::asio::io_context& io, Containment& containment,
                                        std::vector<std::string> command,
                                        const std::vector<std::string>& environment,
                                        std::function<void(Gathered)> on_done) {
  ProcessSpec spec;
  spec.argv = std::move(command);
  spec.env = environment;
  spec.directory = "/";
  spec.reach = Reach::kMachine;
  spec.keep_stdout = true;
  spec.limits.timeout = kEvidenceLimit;
  spec.limits.fair = true;
  spec.reap = kReapEvidence;
  spec.limits.grace = Milliseconds(0);
  return ContainedProcess::start(
      io, containment, std::move(spec),
      [on_done = std::move(on_done)](const ProcessEnd& end) { on_done(gathered_from(end)); });
}

}  // namespace

std::vector<std::string> gather_arguments(const GatherRequest& request) {
  std::vector<std::string> arguments = {"gather-evidence", "--guard=" + std::to_string(request.guard),
                                        "--file=" + request.file, "--budget=" + format_duration(kOwnBudget)};
  for (const std::string& device : request.devices) arguments.push_back("--device=" + device);
  const std::size_t lines = request.kernel_lines.size();
  for (std::size_t i = lines - std::min(lines, kMaxKernelLines); i < lines; ++i)
    arguments.push_back("--kernel-line=" + request.kernel_lines[i].substr(0, kMaxKernelBytes));
  if (!request.kernel_gap.empty()) arguments.push_back("--kernel-gap=" + request.kernel_gap);
  return arguments;
}

std::vector<std::string> gather_arguments(const CrashGatherRequest& request) {
  std::vector<std::string> arguments = {"gather-evidence",
                                        "--crashed=" + std::to_string(request.owner.pid),
                                        "--containment-id=" + request.owner.containment_id,
                                        "--core-glob=" + request.core_glob,
                                        "--since=" + std::to_string(request.owner.since),
                                        "--core=" + request.core,
                                        "--max-core-bytes=" + std::to_string(request.room),
                                        "--file=" + request.file,
                                        "--budget=" + format_duration(kOwnBudget)};
  if (!request.scratch.empty()) arguments.push_back("--scratch=" + request.scratch);
  if (!request.owner.is_alone) arguments.push_back("--common-pid");
  return arguments;
}

std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const GatherRequest& request,
                                                  std::function<void(Gathered)> on_done) {
  return start(io, containment, with_program(request.program, gather_arguments(request)), request.environment,
               std::move(on_done));
}

std::shared_ptr<ContainedProcess> gather_evidence(boost::asio::io_context& io, Containment& containment,
                                                  const CrashGatherRequest& request,
                                                  std::function<void(Gathered)> on_done) {
  return start(io, containment, with_program(request.program, gather_arguments(request)), request.environment,
               std::move(on_done));
}

}  // namespace proctor
