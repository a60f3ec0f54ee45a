// Which of some texts stand in a file, whatever it is. It is read block by block: an executable may be larger than what
// the runner may hold. Example:
//
//   const auto found = find_texts("/bin/true", {"libcuda.so.1", "libze_loader.so.1"}, "\x7f" "ELF");
//   const bool opens_cuda = found && found->contains("libcuda.so.1");
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// None of them in a file that does not begin with `beginning`.
Result<std::set<std::string_view>> find_texts(const std::string& path,
                                              const std::vector<std::string_view>& texts,
                                              std::string_view beginning = {});

}  // namespace proctor
