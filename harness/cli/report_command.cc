// Implements `proctor report render RUN_DIR...`, which writes reports from the journal, also after the runner was
// killed. `proctor report pack RUN_DIR` packs a run into one file.

#include "harness/cli/report_command.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/base/user_name.h"
#include "harness/base/words.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/ending.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_record.h"
#include "reports/pack/packed_run.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {

Result<void> check_reports_place(const std::string& run_dir) {
  std::error_code error;  // the reader reports a missing directory
  return std::filesystem::is_directory(run_dir, error) ? check_owner_of(run_dir) : Result<void>();
}

Result<ResolvedRun> write_journal(const std::vector<Event>& events, const std::string& path) {
  auto journal = Journal::open(path);
  if (!journal) return journal.error();
  RunResolver run;
  for (const Event& event : events) {
    (*journal)->on(event);
    run.on(event);
  }
  if (!(*journal)->complete()) return Error::system("write " + path, (*journal)->why_incomplete());
  return run.take();
}

int render_again(const std::string& run_dir, const ReportFormats& formats, const std::string& out) {
  const std::string& place = out.empty() ? run_dir : out;
  if (auto ours = check_reports_place(place); !ours) return fail(ours.error());
  auto run = load_run(run_dir);
  if (!run) return fail(Error::usage_of(run.error()));
  forget_logs(*run, [&](const std::string& log) {
    std::error_code error;
    return std::filesystem::exists(run_dir + "/" + log, error);
  });
  if (auto rendered = render(*run, place, formats, run_dir); !rendered) return fail(rendered.error());
  const int code = run->shell_exit_code;
  for (const Warning& warning : run->warnings) {
    if (warning.code == WarningCode::kJournalChanged) std::printf("%s\n", shown(warning.text).c_str());
  }
  std::printf("%s\n", outcomes_text(*run).c_str());
  std::printf("the run's exit code is %d (%s)\n", code, verdict_text(*run, code).c_str());
  std::printf("reports in %s\n", shown(place).c_str());
  return kExitGreen;
}

namespace {

// These formats cannot be combined: `page` takes several runs, and `github` writes no file in a run directory.
constexpr std::string_view kPage = "page";
constexpr std::string_view kGithub = "github";

struct RenderOptions {
  PageOptions page;                   // its runs and its output path apply to all formats
  std::optional<std::string> format;  // none: all reports of a run
  bool force = false;

  bool is(std::string_view name) const { return format == name; }
  const std::string& run_dir() const { return page.runs.front(); }  // run directory or packed run
};

// Returns an error if an option does not fit the format.
Result<void> check_options(const RenderOptions& options) {
  const PageOptions& page = options.page;
  for (const auto& [name, value] : {std::pair("--against", &page.against),
                                    {"--history", &page.history},
                                    {"--gate", &page.gate},
                                    {"--coverage", &page.coverage}}) {
    if (!value->empty() && !options.is(kPage))
      return Error::refused(std::string(name) + " requires --format page");
  }
  if (options.force && !options.is(kGithub)) return Error::refused("--force requires --format github");
  if (options.is(kPage) && page.out.empty()) return Error::refused("--format page requires --out FILE");
  if (options.is(kGithub) && !page.out.empty())
    return Error::refused("--format github cannot be combined with --out");
  if (!options.is(kPage) && page.runs.size() > 1)
    return Error::refused(
        "`proctor report render` takes one run (got " + std::to_string(page.runs.size()) + ")",
        "Only --format page takes several.");
  return {};
}

Result<ReportFormats> formats_of(const RenderOptions& options) {
  if (!options.format) return default_formats();
  for (const std::string_view word : split(*options.format, ',')) {
    if (trimmed(word) == kPage || trimmed(word) == kGithub)
      return Error::refused("--format " + std::string(trimmed(word)) +
                            " cannot be combined with other formats");
  }
  return parse_formats(*options.format, {std::string(kPage), std::string(kGithub)});
}

// Unpacks a file of `report pack` and renders its reports. Returns the exit code.
int unpack_and_render(const RenderOptions& options, const ReportFormats& formats) {
  const std::string& packed = options.run_dir();
  std::string directory = options.page.out;
  if (directory.empty()) directory = packed.substr(0, packed.size() - kPackedEnding.size());
  if (auto unpacked = unpack_run(packed, directory); !unpacked) return fail(unpacked.error());
  return render_again(directory, formats);
}

int render_formats(const RenderOptions& options) {
  if (auto fits = check_options(options); !fits) return fail(fits.error());
  if (options.is(kPage)) return make_page(options.page);
  if (options.is(kGithub)) return show_in_github(options.run_dir(), options.force);
  const auto formats = formats_of(options);
  if (!formats) return fail(formats.error());
  if (is_packed_run(options.run_dir())) return unpack_and_render(options, *formats);
  const std::string& out = options.page.out;
  std::error_code error;
  if (!out.empty() && !std::filesystem::is_directory(out, error)) {
    std::filesystem::create_directories(out, error);
    if (error) return fail(Error::system("make " + out, error.value()));
  }
  return render_again(options.run_dir(), *formats, out);
}

void add_page_options(CLI::App& command, PageOptions& page) {
  const char* const group = "With --format page";
  command.add_option("--against", page.against, "Older run directory: show what changed since then")
      ->type_name("RUN_DIR")
      ->group(group);
  command
      .add_option("--history", page.history,
                  "History file (see `proctor history`): show since when each case fails, its last 50 "
                  "outcomes, and what changed since the run before")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--gate", page.gate,
                  "JSON file of `proctor gate`: show its verdict and each rule that fails")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--coverage", page.coverage,
                  "Output of `proctor list --coverage --json`: show each rule with the result of its "
                  "checks, and each rule without a check")
      ->type_name("FILE")
      ->group(group);
}

void add_report_render(CLI::App& report, Action& action) {
  auto* command = report.add_subcommand(
      "render", "Write the reports of a run again, or a page of several, or what GitHub Actions shows");
  command->footer(
      "page: one HTML page of several runs, or of one with its past. Links to logs are relative to it. The "
      "page of one run without its past is that of html.\n"
      "github: appends the job summary to the file in GITHUB_STEP_SUMMARY, and outputs to the file in "
      "GITHUB_OUTPUT, if these are set. The outputs are `verdict` (passed, failed, machine_failed, "
      "incomplete or "
      "interrupted), `exit-code`, `retry` (true on 75), numbers of cases (`total`, `passed`, `failed`, "
      "`skipped`, `flaky`), `report` (RUN_DIR), `junit` and `page` (paths). Prints annotations if "
      "GITHUB_ACTIONS=true.");
  auto options = std::make_shared<RenderOptions>();
  command
      ->add_option("run_dir", options->page.runs,
                   "Run directory, or a file of `report pack`, which is unpacked; several with --format page")
      ->required()
      ->type_name("RUN_DIR");
  command
      ->add_option("--format", options->format,
                   "Formats, by commas: " + formats_text() + "; or page or github")
      ->type_name("FORMATS");
  command
      ->add_option("--out", options->page.out,
                   "Directory for the reports (default: the run directory; of FILE.tar.gz, FILE); the file "
                   "of page")
      ->type_name("PATH");
  add_page_options(*command, options->page);
  command->add_flag("--force", options->force, "Print the annotations outside of GitHub Actions, too")
      ->group("With --format github");
  command->callback([options, &action] { action = [options] { return render_formats(*options); }; });
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  auto* report = app.add_subcommand("report", "Make, merge and compare reports");
  report->require_subcommand(1);
  add_report_render(*report, action);
  add_report_merge(*report, action);
  add_report_pack(*report, action);
  add_report_diff(*report, action);
}

namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string address_text(const ifaddrs& interface) {
  char text[INET6_ADDRSTRLEN] = {};
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_LOOPBACK) != 0) return "";
  const int family = interface.ifa_addr->sa_family;
  const void* address = nullptr;
  if (family == AF_INET) address = &reinterpret_cast<const sockaddr_in*>(interface.ifa_addr)->sin_addr;
  if (family == AF_INET6) address = &reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr)->sin6_addr;
  return address != nullptr && ::inet_ntop(family, address, text, sizeof text) != nullptr ? text : "";
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* interface = first; interface != nullptr; interface = interface->ifa_next) {
    if (auto text = address_text(*interface); !text.empty()) addresses.push_back(std::move(text));
  }
  ::freeifaddrs(first);
  return addresses;
}

// Returns the names of this machine and its user. A run is packed on the machine on which it ran.
PrivateNames names_here() {
  PrivateNames names;
  const std::string host = host_name();
  names.hosts = {host, host.substr(0, host.find('.'))};
  const std::string user = user_name(::getuid());  // "alice (uid 1000)"
  names.users = {environment_value("USER"), environment_value("LOGNAME"), environment_value("SUDO_USER"),
                 user.substr(0, user.find(" ("))};
  std::erase(names.users, user);  // the user has no name
  names.addresses = own_addresses();
  names.directories.emplace_back(environment_value("HOME"), "HOME");
  const fs::path programs = Installation().directory();
  names.directories.emplace_back((programs.filename() == "bin" ? programs.parent_path() : programs).string(),
                                 "BUNDLE");
  return names;
}

struct PackOptions {
  std::string run_dir;
  std::string out = ".";
};

int pack(const PackOptions& options) {
  const auto directory = run_directory_of(options.run_dir);
  if (!directory) return fail(directory.error());
  const auto run = load_run(*directory);
  if (!run) return fail(Error::usage_of(run.error()));
  const auto packed = pack_run(*run, *directory, names_here());
  if (!packed) return fail(packed.error());
  const std::string file = (fs::path(options.out) / packed->name).string();
  if (auto written = replace_file(file, packed->bytes); !written) return fail(written.error());
  std::printf("%s\n", shown(file).c_str());
  return kExitGreen;
}

}  // namespace

void add_report_pack(CLI::App& report, Action& action) {
  auto* command =
      report.add_subcommand("pack", "Write a run as one file to send, without names of people and machines");
  auto options = std::make_shared<PackOptions>();
  command->add_option("run_dir", options->run_dir, "Run directory")->required()->type_name("RUN_DIR");
  command->add_option("--out", options->out, "Directory for the file (default: the working directory)")
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return pack(*options); }; });
}

}  // namespace proctor::cli
