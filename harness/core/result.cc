#include "harness/core/result.h"

#include <cstring>

namespace proctor {

Error Error::system(std::string what, int err) {
  const char* name = strerrorname_np(err);
  what += std::string(": ") + strerrordesc_np(err) + " (" + (name != nullptr ? name : "?") + ")";
  return {ErrorKind::kSystem, std::move(what), {}, err};
}

}  // namespace proctor
