// The document that most rules of this suite come from.
#pragma once

namespace proctor::visibility {

inline constexpr const char* kGuide = "CUDA Programming Guide, CUDA Environment Variables";

}  // namespace proctor::visibility
