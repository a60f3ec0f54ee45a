#include "harness/selftest/fault_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "harness/core/json.h"
#include "harness/core/text.h"

namespace proctor {

Result<std::vector<Firing>> parse_fault_log(std::string_view text) {
  std::vector<Firing> firings;
  for (std::size_t from = 0, number = 1; from < text.size(); ++number) {
    const auto newline = text.find('\n', from);
    if (newline == std::string_view::npos) break;
    const auto line = text.substr(from, newline - from);
    const auto record = nlohmann::json::parse(line, nullptr, false);
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
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    if (errno == ENOENT) return std::vector<Firing>{};
    return Error::system("read " + path, errno);
  }
  std::string text;
  char buffer[16384];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, got);
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  std::fclose(file);
  if (failed) return Error::system("read " + path, error);
  return parse_fault_log(text);
}

}  // namespace proctor
