// `proctor report pack RUN_DIR`: a run as one file to send.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "harness/base/replace_file.h"
#include "harness/base/user_name.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_render.h"
#include "harness/journal/exit_code.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/record/run_record.h"
#include "reports/pack/packed_run.h"

namespace proctor::cli {
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
  std::erase(names.users, user);  // without a name
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
