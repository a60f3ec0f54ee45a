#include "harness/run/attempt/attempts.h"

namespace proctor {

void Attempts::end() {
  cores_.remove_others();
  for (const auto& warning : observer_.proposals(Milliseconds(events_.ms_now()))) events_.on(warning);
}

}  // namespace proctor
