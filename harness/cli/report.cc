// `proctor report render RUN_DIR`: every report is a function of the journal, also after the runner was
// killed.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/ending.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_render.h"
#include "harness/core/exit_code.h"
#include "harness/core/replace_file.h"
#include "harness/run/record/journal.h"
#include "reports/model/exit_code.h"
#include "reports/model/run_model.h"
#include "reports/pack/packed_run.h"

namespace proctor::cli {

Result<void> check_reports_place(const std::string& run_dir) {
  std::error_code error;  // what is missing is said by who reads it
  return std::filesystem::is_directory(run_dir, error) ? check_owner_of(run_dir) : Result<void>();
}

Result<RunModel> write_journal(const std::vector<Event>& events, const std::string& path) {
  auto journal = Journal::open(path);
  if (!journal) return journal.error();
  RunModel model;
  for (const Event& event : events) {
    (*journal)->on(event);
    model.on(event);
  }
  if (!(*journal)->complete()) return Error::system("write " + path, (*journal)->why_incomplete());
  return model;
}

int render_again(const std::string& run_dir, const ReportFormats& formats, const std::string& out) {
  const std::string& place = out.empty() ? run_dir : out;
  if (auto ours = check_reports_place(place); !ours) return fail(ours.error());
  auto model = load_run(run_dir);
  if (!model) return fail(Error::usage_of(model.error()));
  model->forget_logs([&](const std::string& log) {
    std::error_code error;
    return std::filesystem::exists(run_dir + "/" + log, error);
  });
  if (auto rendered = render(*model, place, formats, run_dir); !rendered) return fail(rendered.error());
  const int code = shell_exit_code(*model);
  for (const Warning& warning : model->warnings()) {
    if (warning.code == WarningCode::kJournalChanged) std::printf("%s\n", shown(warning.text).c_str());
  }
  std::printf("%s\n", summary_line(model->summary()).c_str());
  std::printf("the run's exit code is %d (%s)\n", code, verdict_words(*model, code).c_str());
  std::printf("reports in %s\n", shown(place).c_str());
  return kExitGreen;
}

namespace {

struct RenderOptions {
  std::string run_dir;                // or a packed run
  std::optional<std::string> format;  // none: what a run leaves
  std::string out;                    // "" = the run directory
};

// Unpacks a file of `report pack`. Returns the run directory that it becomes.
int unpack_and_render(const RenderOptions& options, const ReportFormats& formats) {
  std::string directory = options.out;
  if (directory.empty()) directory = options.run_dir.substr(0, options.run_dir.size() - kPackedEnding.size());
  if (auto unpacked = unpack_run(options.run_dir, directory); !unpacked) return fail(unpacked.error());
  return render_again(directory, formats);
}

int render_formats(const RenderOptions& options) {
  ReportFormats formats = default_formats();
  if (options.format) {
    auto read = parse_formats(*options.format);
    if (!read) return fail(read.error());
    formats = *std::move(read);
  }
  if (is_packed_run(options.run_dir)) return unpack_and_render(options, formats);
  std::error_code error;
  if (!options.out.empty() && !std::filesystem::is_directory(options.out, error)) {
    std::filesystem::create_directories(options.out, error);
    if (error) return fail(Error::system("make " + options.out, error.value()));
  }
  return render_again(options.run_dir, formats, options.out);
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  auto* report = app.add_subcommand("report", "Make, merge and compare reports");
  report->require_subcommand(1);
  auto* command = report->add_subcommand("render", "Write the reports of a run again, from its journal");
  auto options = std::make_shared<RenderOptions>();
  command
      ->add_option("run_dir", options->run_dir,
                   "Run directory, or a file of `report pack`, which is unpacked")
      ->required()
      ->type_name("RUN_DIR");
  command->add_option("--format", options->format, "Formats, separated by commas: " + formats_text())
      ->type_name("FORMATS");
  command
      ->add_option("--out", options->out,
                   "Directory for the reports (default: the run directory; of FILE.tar.gz, FILE)")
      ->type_name("DIR");
  add_report_merge(*report, action);
  add_report_pack(*report, action);
  add_report_page(*report, action);
  add_report_diff(*report, action);
  add_report_github(*report, action);
  command->callback([options, &action] { action = [options] { return render_formats(*options); }; });
}

}  // namespace proctor::cli
