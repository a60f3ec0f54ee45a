// What is the same for every vendor's codes and kinds of memory.
#include "suites/accel/accel.h"

namespace proctor::accel {

void Status::or_throw() const {
  if (!ok()) throw Error(*this);
}

Error::Error(Status status) : status_(status), text_(std::string(status.call()) + ": " + status.name()) {}

const char* to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kShared:
      return "shared";
  }
  return "";
}

}  // namespace proctor::accel
