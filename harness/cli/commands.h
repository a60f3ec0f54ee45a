// Each function adds one subcommand to the parser. If the user selects the subcommand, it sets `action`. main() runs
// the action after the whole command line is parsed, and the action returns the process's exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "harness/cli/shared_options.h"

namespace proctor::cli {

using Action = std::function<int()>;

// `command_line` is argv of main(), which a run records.
void add_run_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                     const AfterDashes& after_dashes);
void add_exec_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                      const AfterDashes& after_dashes);
void add_accept_command(CLI::App& app, Action& action, const std::vector<std::string>& command_line,
                        const AfterDashes& after_dashes);
void add_plan_command(CLI::App& app, Action& action,
                      const AfterDashes& after_dashes);  // plan -o FILE
void add_list_command(CLI::App& app, Action& action,
                      const AfterDashes& after_dashes);   // has the case selection of `run`
void add_report_command(CLI::App& app, Action& action);   // report render|merge|diff|pack
void add_history_command(CLI::App& app, Action& action);  // history add|show|...
void add_slurm_command(CLI::App& app, Action& action,
                       const AfterDashes& after_dashes);          // slurm run
void add_gather_evidence_command(CLI::App& app, Action& action);  // started by the runner; hidden in the help
void add_launch_ranks_command(CLI::App& app, Action& action);     // started by the runner; hidden in the help
void add_ctest_command(CLI::App& app, Action& action);            // ctest open|report|cases
void add_init_command(CLI::App& app, Action& action);             // init [DIR]
void add_rerun_command(CLI::App& app, Action& action);            // rerun RUN
void add_finish_command(CLI::App& app, Action& action);           // finish RUN_DIR
void add_healthcheck_command(CLI::App& app, Action& action);      // healthcheck --slurm
void add_gate_command(CLI::App& app, Action& action);             // gate --policy FILE REPORT...
void add_known_failures_command(CLI::App& gate, Action& action);  // gate known-failures check|suggest
void add_dump_command(CLI::App& app, Action& action);             // dump RUN_DIR
void add_log_command(CLI::App& app, Action& action);              // log CASE
void add_devices_command(CLI::App& app, Action& action);          // devices
void add_doctor_command(CLI::App& app, Action& action);           // doctor
void add_explain_command(CLI::App& app, Action& action);          // explain CASE, explain mask
void add_selftest_command(CLI::App& app, Action& action);
void add_manual_command(
    CLI::App& app, Action& action,
    const AfterDashes& after_dashes);                   // used by the build and by shells; hidden in the help
void add_stack_command(CLI::App& app, Action& action);  // stack capture|render|lint|verify

}  // namespace proctor::cli
