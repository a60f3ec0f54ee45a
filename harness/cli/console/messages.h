// Prints messages and tables of all commands. In CI, the program that reads the output may obey workflow commands in it
// (harness/base/workflow_commands.h). shown() makes text safe for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// Returns text that is safe for a person and for the log of a CI step: no hidden control characters, no workflow
// commands.
std::string shown(std::string_view text);

// Does the same for a JSON document. The result is equal to `text` as JSON.
std::string shown_json(std::string text);

// Prints an error in the form of all commands and returns the exit code: 2 for a usage error, otherwise 75.
int fail(const Error& error);
// Does the same for `exec`, with 125 for a usage error, because all other exit codes belong to its command.
int fail_exec(const Error& error);

// Prints a warning after the end of a run, when nothing can be added to its reports.
void warn_not_recorded(const Error& error);

// Flushes stdout at the end of a command. Returns `code`, or the exit code of the failure to write `what`.
int said_all(int code, const std::string& what);

// Prints to stderr why a listing waits for devices that another process holds.
void report_wait(const std::string& why);

// While this object exists, a CI step obeys no workflow commands. It is for output that cannot be filtered, because the
// case writes directly to this process's stdout and stderr.
class CommandPause {
 public:
  CommandPause();
  ~CommandPause();
  CommandPause(const CommandPause&) = delete;
  CommandPause& operator=(const CommandPause&) = delete;

 private:
  std::string token_;  // random token that ends the pause
};

// ---- Tables; a table that is too wide for the terminal becomes a paragraph per row ----

using TextRow = std::vector<std::string>;  // the first column names the row

// Returns the columns of the terminal on stdout; 0 if stdout is not a terminal.
std::size_t columns_of_stdout();

// `rows` have as many cells as `headings`; an empty cell is printed as "-". `columns` 0: no limit.
std::string text_table(const TextRow& headings, std::vector<TextRow> rows, std::size_t columns);

}  // namespace proctor::cli
