// Memory that two processes share: what only Level Zero has.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {

// The specification makes no exception for memory of several tiles. Intel's driver may spread a buffer over the tiles, and then
// exports the part on the first one.
PROCTOR_CHECK(Ipc, BuffersOfACardAreWhole, "M41", "Level Zero specification, zeMemGetIpcHandle", suite::kWarn,
              .faults = {"ipc.wrong_buffer"}, .needs = {"tiles>=2"}) {
  const auto context = leased();
  need(context.device().tiles().size() >= 2, "needs:tiles>=2");
  Queue queue(context);
  for (const std::size_t bytes : {131'072U, 131'073U, (2U << 20) + 3}) {
    suite::step("given " + std::to_string(bytes) + " bytes of the card, which a second process opens");
    const Buffer memory = device_copy(queue, context, noise(bytes, 1));
    suite::Helper importer("import_memory", {Ipc::export_memory(context, memory), std::to_string(bytes)});
    suite::expect_true(importer.answer().at("ok").get<bool>(), "it can be opened");
    importer.order("read 1");
    const auto answer = importer.try_answer();
    suite::expect_true(answer && answer->value("same", false), "the second process reads all of it");
  }
}

}  // namespace proctor::accel
