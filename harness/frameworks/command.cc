#include "harness/frameworks/command.h"

namespace proctor {
namespace {

class CommandKind final : public Kind {
 public:
  CommandKind() : Kind({.name = "command", .framework = "one case", .one_case = true, .ranks = true}) {}

  std::vector<std::string> list_command(const Suite& suite) const override { return suite.command; }
  Result<std::vector<Case>> read_list(Suite& suite, const ListOutput&, const Ask&,
                                      std::vector<Warning>&) const override {
    return std::vector<Case>{whole_command(suite)};
  }

  Verdict judge(const CaseEnd& end) const override {
    if (end.exit_code == 0) return {Outcome::kPass, {}};
    if (end.exit_code == end.skip_code) return {Outcome::kSkip, {Reason::kExit, end.exit_code}};
    return {Outcome::kFail, {Reason::kExit, end.exit_code}};
  }
};

}  // namespace

const Kind& command_kind() {
  static const CommandKind kKind;
  return kKind;
}

}  // namespace proctor
