#include "suites/visibility/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "suites/accel/xpu/level_zero.h"
#include "suites/main/self.h"
#include "suites/visibility/look.h"

namespace proctor::visibility {
namespace {

using nlohmann::json;
using xpu::LevelZero;
using Arguments = std::vector<std::string>;

json counts(const LevelZero& ze) {
  json document = {{"seen", to_json(look(ze))}};
  for (const auto driver : xpu::list_drivers(ze).handles) {
    const auto all = xpu::list_devices(ze, driver).handles;
    if (all.empty()) continue;
    ze_device_handle_t first = nullptr;
    std::uint32_t count = 1;
    const auto under = ze.device_get(driver, &count, &first);
    document["under"] = {
        {"result", xpu::result_name(under)}, {"count", count}, {"same_first", first == all[0]}};
    std::vector<ze_device_handle_t> more(all.size() + 4);
    count = static_cast<std::uint32_t>(more.size());
    const auto over = ze.device_get(driver, &count, more.data());
    document["over"] = {{"result", xpu::result_name(over)}, {"count", count}, {"devices", all.size()}};
    break;
  }
  return document;
}

json null_count(const LevelZero& ze) {
  const Enumeration seen = look(ze);
  const auto drivers = xpu::list_drivers(ze).handles;
  const bool validated = !xpu::mapped_library("libze_validation_layer").empty();
  json document = {{"seen", to_json(seen)}, {"validation_layer", validated}};
  if (drivers.empty() || !validated) return document;  // unvalidated, the call may do anything
  document["result"] = xpu::result_name(ze.device_get(drivers[0], nullptr, nullptr));
  return document;
}

json peers(const LevelZero& ze) {
  json document = {{"seen", to_json(look(ze))}, {"peers", json::array()}};
  const auto devices = all_devices(ze);
  for (const auto from : devices) {
    json row = json::array();
    for (const auto to : devices) {
      ze_bool_t reachable = 0;
      const auto result = ze.device_can_access_peer(from, to, &reachable);
      row.push_back({{"result", xpu::result_name(result)}, {"reachable", reachable != 0}});
    }
    document["peers"].push_back(std::move(row));
  }
  return document;
}

json sysman(const LevelZero& ze) {
  json document = {{"devices", json::array()}};
  if (ze.lacks("zesInit") || ze.lacks("zesDriverGet") || ze.lacks("zesDeviceGet")) return document;
  const auto init = ze.sysman_init(0);
  document["result"] = xpu::result_name(init);
  if (init == ZE_RESULT_SUCCESS) document["devices"] = look_sysman(ze);
  return document;
}

json twice(const LevelZero& ze) {
  const auto first = look(ze);
  const auto handles = all_devices(ze);
  const bool same_handles = handles == all_devices(ze);
  return {{"seen", to_json(first)}, {"again", to_json(look(ze))}, {"same_handles", same_handles}};
}

// The leaf of V22: the same program, one exec further down, with the environment untouched.
[[noreturn]] void become_grandchild() {
  const int flags = fcntl(kAnswerFd, F_GETFD);
  fcntl(kAnswerFd, F_SETFD, flags & ~FD_CLOEXEC);
  auto argv = suite::self_command();
  argv.insert(argv.end(), {kChildOption, "enumerate"});
  const auto words = suite::pointers(argv);
  const pid_t pid = fork();  // nothing of Level Zero has been loaded yet
  if (pid == 0) {
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) _exit(1);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

json hold(const LevelZero& ze) { return {{"seen", to_json(look(ze))}}; }

void set_variable(const Arguments& arguments) { setenv(arguments.at(1).c_str(), arguments.at(2).c_str(), 1); }

json answer_of(const LevelZero& ze, const Arguments& arguments) {
  const std::string& mode = arguments[0];
  if (mode == "enumerate" || mode == "hold") return hold(ze);
  if (mode == "enumerate-after-setenv") {
    set_variable(arguments);
    return hold(ze);
  }
  if (mode == "setenv-after-init") {
    const auto first = look(ze);
    set_variable(arguments);
    return {{"seen", to_json(first)}, {"again", to_json(look(ze))}};
  }
  if (mode == "twice") return twice(ze);
  if (mode == "counts") return counts(ze);
  if (mode == "null-count") return null_count(ze);
  if (mode == "peers") return peers(ze);
  return sysman(ze);
}

struct Mode {
  const char* name;
  std::size_t arguments;  // behind the name
};
constexpr Mode kModes[] = {{"enumerate", 0},
                           {"enumerate-after-setenv", 2},
                           {"setenv-after-init", 2},
                           {"twice", 0},
                           {"counts", 0},
                           {"null-count", 0},
                           {"peers", 0},
                           {"sysman", 0},
                           {"grandchild", 0},
                           {"hold", 0}};

bool known(const Arguments& arguments) {
  for (const Mode& mode : kModes) {
    if (!arguments.empty() && arguments[0] == mode.name) return arguments.size() == mode.arguments + 1;
  }
  return false;
}

bool write_answer(const json& document) {
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t from = 0; from < text.size();) {
    const ssize_t written = write(kAnswerFd, text.data() + from, text.size() - from);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += static_cast<std::size_t>(written);
  }
  return close(kAnswerFd) == 0;
}

}  // namespace

int child_main(int argc, char** argv) {
  const Arguments arguments(argv, argv + argc);
  if (!known(arguments)) {
    std::cerr << "unknown mode of " << kChildOption << "\n";
    return 2;
  }
  const rlimit no_core{0, 0};  // an expected crash must not leave a core file
  setrlimit(RLIMIT_CORE, &no_core);
  // A crash of the driver must end as its signal, also in a build whose sanitizer would catch it.
  for (const int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(fatal, SIG_DFL);
  fcntl(kAnswerFd, F_SETFD, FD_CLOEXEC);
  if (arguments[0] == "grandchild") become_grandchild();

  std::string why;
  const auto ze = xpu::load_level_zero(why);
  json document;
  if (!ze) {
    document = {{"problem", std::string("library_missing:") + xpu::kLoaderName}, {"detail", why}};
  } else {
    document = answer_of(*ze, arguments);
    document["missing_symbols"] = ze->missing_symbols;
    document["loader"] = xpu::loader_version(*ze);
  }
  const bool written = write_answer(document);
  char byte = 0;
  if (arguments[0] == "hold")
    while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  _exit(written ? 0 : 1);
}

}  // namespace proctor::visibility
