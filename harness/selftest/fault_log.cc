#include "harness/selftest/fault_log.h"

#include <fmt/format.h>

#include <cerrno>

#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"

namespace proctor {

constexpr std::uint64_t kMostLog = std::uint64_t{256} << 20;

Result<std::vector<Firing>> parse_fault_log(std::string_view text) {
  std::vector<Firing> firings;
  for (std::size_t from = 0, number = 1; from < text.size(); ++number) {
    const auto newline = text.find('\n', from);
    if (newline == std::string_view::npos) break;
    const auto line = text.substr(from, newline - from);
    const auto record = parse_json(line);
    const auto fault = record.is_object() ? record.find("fault") : record.end();
    const auto time = record.is_object() ? record.find("t_ns") : record.end();
    if (fault == record.end() || !fault->is_string() || time == record.end() || !time->is_number_integer()) {
      return Error::internal(fmt::format("read line {} of the simulator's fault log: {}", number,
                                         clean_text(line.substr(0, 200))));
    }
    firings.push_back({fault->get<std::string>(), time->get<std::int64_t>()});
    from = newline + 1;
  }
  return firings;
}

Result<std::vector<Firing>> read_fault_log(const std::string& path) {
  const auto text = read_regular(path, kMostLog);
  if (text) return parse_fault_log(*text);
  if (text.error().sys_errno == ENOENT) return std::vector<Firing>{};
  return text.error();
}

}  // namespace proctor
