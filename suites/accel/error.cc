// What is the same for every vendor's codes and kinds of memory.
#include "suites/accel/accel.h"

namespace proctor::accel {

void Status::or_throw() const {
  if (!ok()) throw Error(*this);
}

Error::Error(Status status) : status_(status), text_(std::string(status.call()) + ": " + status.name()) {}

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::kUnknown:
      return "unknown";
    case Kind::kHost:
      return "host";
    case Kind::kDevice:
      return "device";
    case Kind::kShared:
      return "shared";
  }
  return "";
}

}  // namespace proctor::accel
