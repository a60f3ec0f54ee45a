// What commands say to people. In CI, the program that reads our output may obey commands in it
// (harness/base/workflow_commands.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor::cli {

// Any text as a person and the log of a CI step may see it: clean, without hidden controls, and no command.
std::string shown(std::string_view text);

// A JSON document for the same eyes: equal to the one that was given.
std::string shown_json(std::string text);

// Prints an error the way every command does and gives the exit code: 2 for a user's mistake, else 75.
int fail(const Error& error);
// The same for `exec`, whose other exit codes are its command's: 125 for a user's mistake.
int fail_exec(const Error& error);

// Prints a warning after the end of a run, when nothing can be added to its reports.
void warn_not_recorded(const Error& error);

// At the end of a command that says something on stdout: `code`, or that of the failure to write `what` there.
int said_all(int code, const std::string& what);

// Says on stderr that a listing waits for devices that somebody holds, and why.
void report_wait(const std::string& why);

// While this object exists, the CI step obeys no command at all. It is for output that we cannot filter,
// because the case writes directly to our own stdout and stderr.
class CommandPause {
 public:
  CommandPause();
  ~CommandPause();
  CommandPause(const CommandPause&) = delete;
  CommandPause& operator=(const CommandPause&) = delete;

 private:
  std::string token_;  // nobody can guess it
};

// ---- A table or, where it is wider than the terminal, a paragraph for each row ----

using TextRow = std::vector<std::string>;  // the first column names the row

// Of the terminal on stdout; 0: it is none.
std::size_t columns_of_stdout();

// `rows` are as long as `headings`; an empty cell is shown as "-". `columns` 0: of any width.
std::string text_table(const TextRow& headings, std::vector<TextRow> rows, std::size_t columns);

}  // namespace proctor::cli
