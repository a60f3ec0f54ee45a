// Builds a module in a second process and judges its end. See built_apart.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/built_apart.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

std::string driver_version(const Device& device) {
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  ZE_CALL(zeDriverGetProperties, device.record()->driver, &properties).or_throw();
  return xpu::driver_version_text(properties.driverVersion);
}

std::string text_of(const suite::HelperEnd& end) {
  if (end.hung) return "a timeout";
  return end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit_code);
}

// `words` are the module, the damage, and "log" if the build log is requested.
PROCTOR_HELPER(build_apart) {
  const auto context = leased();
  auto image = module_file(words.at(0));
  const std::string& damage = words.at(1);
  if (damage == "truncated") image.resize(image.size() / 2 & ~std::size_t{3});
  if (damage == "garbage") image = noise(image.size(), 1);
  if (damage == "header") image.resize(20);
  if (damage == "bad_opcode") std::fill(image.begin() + 20, image.begin() + 40, std::byte{0xff});
  Module module;
  std::string log;
  const Status status = Module::try_build(context, image, {}, module, words.size() > 2 ? &log : nullptr);
  suite::answer({{"ok", status.ok()}, {"status", status.name()}, {"log", log}});
}

}  // namespace

Build build_apart(const std::string& name, const std::string& damage, WithLog log) {
  std::vector<std::string> words = {name, damage};
  if (log == WithLog::kYes) words.emplace_back("log");
  suite::Helper helper("build_apart", words);
  const auto answer = helper.try_answer();
  if (!answer) {
    const suite::HelperEnd end = helper.finish();
    return {.refused = !end.hung, .end = text_of(end)};
  }
  if (answer->contains("skip")) suite::skip(answer->at("skip"));
  const std::string status = answer->value("status", answer->value("error", ""));
  return {.survived = true,
          .ok = answer->value("ok", false),
          .refused = status.find("ZE_RESULT_ERROR_MODULE_BUILD_FAILURE") != status.npos ||
                     status.find("ZE_RESULT_ERROR_UNSUPPORTED") != status.npos,
          .end = status,
          .log = answer->value("log", "")};
}

void need_built_apart(const Context& context, const std::string& name, const std::string& construct,
                      const std::string& source) {
  // Modules that were built once. The checks of this process run one after the other and need no second build.
  static std::set<std::string> built;
  if (built.contains(name)) return;
  suite::step("given the module " + name + ", built in a second process");
  const Build build = build_apart(name);
  if (build.ok) {
    built.insert(name);
    return;
  }
  if (!build.refused)
    suite::fail_because("not_built", fmt::format("building {} ends with {}", name, build.end));
  suite::warn(fmt::format("the compiler of driver {} refuses {} ({}): {}{}{}",
                          driver_version(context.device()), construct, name,
                          build.survived ? "" : "it ended the process with ", build.end, "; " + source));
  suite::skip("unsupported:" + construct);
}

Module load_built_apart(const Context& context, const std::string& name, const std::string& construct,
                        const std::string& source, const ModuleOptions& options) {
  need_built_apart(context, name, construct, source);
  return Module::load(context, name, options);
}

}  // namespace proctor::accel
