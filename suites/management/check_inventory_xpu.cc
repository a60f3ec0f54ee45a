// What Sysman alone says of a card that is good.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/management/asked.h"
#include "suites/management/sysman_calls.h"

namespace proctor::accel {

PROCTOR_CHECK(Inventory, MemoryIsNotWorn, "K110", "Level Zero specification, zes_mem_health_t", suite::kGate,
              {"sysman.memory_worn"}) {
  Asker asker;
  suite::step("given the health of each memory module");
  const int health = asker.ask(kMemoryQuery).at("health").get<int>();
  need(health != ZES_MEM_HEALTH_UNKNOWN, "unsupported:memory_health");
  suite::expect_same("the worst of them", std::to_string(ZES_MEM_HEALTH_OK), std::to_string(health));
}

}  // namespace proctor::accel
