#include "harness/base/result.h"

#include "harness/base/system_names.h"

namespace proctor {

Error Error::system(std::string what, int err) {
  what += ": " + errno_words(err) + " (" + errno_name(err) + ")";
  return {ErrorKind::kSystem, std::move(what), {}, err};
}

}  // namespace proctor
