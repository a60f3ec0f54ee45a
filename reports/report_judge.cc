// validate_report.py, started once for all reports of this program: Python and the schema
// take longer than a report does.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "reports/test_journal.h"

namespace proctor::testing_support {
namespace {

class ReportJudge {
 public:
  ReportJudge() {
    int questions[2];
    int answers[2];
    if (::pipe2(questions, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) std::abort();
    const std::string program = our_schema("validate_report.py").string();
    ::signal(SIGPIPE, SIG_IGN);  // a judge that does not start is a failed check, not the end of us
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(questions[0], STDIN_FILENO);
      ::dup2(answers[1], STDOUT_FILENO);
      ::execl("/usr/bin/python3", "python3", "-W", "ignore", "-B", program.c_str(), "--lines", nullptr);
      ::_exit(127);
    }
    ::close(questions[0]);
    ::close(answers[1]);
    questions_ = ::fdopen(questions[1], "w");
    answers_ = ::fdopen(answers[0], "r");
  }
  ~ReportJudge() {
    std::fclose(questions_);  // the end of its input ends it
    std::fclose(answers_);
    ::waitpid(pid_, nullptr, 0);
  }
  ReportJudge(const ReportJudge&) = delete;
  ReportJudge& operator=(const ReportJudge&) = delete;

  std::string complaint(const std::string& question) {
    std::fprintf(questions_, "%s\n", question.c_str());
    std::fflush(questions_);
    std::string answer;
    for (int c = std::fgetc(answers_); c != '\n'; c = std::fgetc(answers_)) {
      if (c == EOF) return "validate_report.py ended without an answer to: " + question;
      answer += static_cast<char>(c);
    }
    return answer == "\"\"" ? "" : answer;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* questions_ = nullptr;
  std::FILE* answers_ = nullptr;
};

}  // namespace

std::string report_json_complaint(const std::filesystem::path& json, bool closed) {
  static ReportJudge judge;
  return judge.complaint((closed ? "closed " : "") + json.string());
}

}  // namespace proctor::testing_support
