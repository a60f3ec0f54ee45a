// Memory that two processes share: the same bytes, not a copy of them.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kIpc = by_vendor("Level Zero specification, Inter-Process Communication",
                                       "CUDA C++ Programming Guide, Interprocess Communication");
constexpr std::size_t kSharedBytes = 10000;

// Opens TOKEN; then, ordered word by word: "read SEED" tells whether the bytes are
// noise(SEED), "write SEED" writes it.
PROCTOR_HELPER(import_memory) {
  const auto context = leased();
  Buffer memory;
  const Status status = Ipc::try_import(context, words.at(0), kSharedBytes, memory);
  suite::answer({{"status", status.name()}, {"ok", status.ok()}});
  if (!status.ok()) return;
  Queue queue(context);
  for (std::string line = suite::wait_for_input(); !line.empty(); line = suite::wait_for_input()) {
    const auto bytes = noise(kSharedBytes, std::stoull(line.substr(line.find(' '))));
    if (line.starts_with("write")) write(queue, context, memory.data(), bytes);
    suite::answer({{"same", read_bytes(queue, context, memory.data(), kSharedBytes) == bytes}});
  }
}

// An exporter with `seed` in its memory, and a second process that has opened it.
struct Shared {
  explicit Shared(std::uint64_t seed)
      : context(leased()), queue(context), memory(device_copy(queue, context, noise(kSharedBytes, seed))) {
    need(context.device().properties().ipc, "unsupported:ipc");
    step("given memory that a second process has opened");
    importer = std::make_unique<Helper>("import_memory", std::vector{Ipc::export_memory(context, memory)});
    const auto opened = importer->answer();
    if (!opened.at("ok").get<bool>()) {
      suite::fail_because("ipc_refused", "the import answers " + opened.at("status").get<std::string>());
    }
  }
  bool order(const std::string& line) {
    importer->order(line);
    return importer->answer().at("same").get<bool>();
  }

  Context context;
  Queue queue;
  Buffer memory;
  std::unique_ptr<Helper> importer;
};

}  // namespace

PROCTOR_CHECK(Ipc, SecondProcessReadsTheBytes, "M41", kIpc, kGate, {"ipc.wrong_buffer"}) {
  Shared shared(1);
  expect_true(shared.order("read 1"), "the second process reads what the first one wrote");
}

PROCTOR_CHECK(Ipc, ExporterSeesWhatTheImporterWrites, "S1.18", kIpc, kGate, {"ipc.stale"}) {
  Shared shared(1);
  expect_true(shared.order("write 2"), "the second process reads what it wrote itself");
  expect_bytes("memory of the exporter", noise(kSharedBytes, 2),
               read_bytes(shared.queue, shared.context, shared.memory.data(), kSharedBytes),
               shared.context.device());
}

PROCTOR_CHECK(Ipc, ImporterSeesWhatTheExporterWrites, "S1.18", kIpc, kGate, {"ipc.stale"}) {
  Shared shared(1);
  write(shared.queue, shared.context, shared.memory.data(), noise(kSharedBytes, 3));
  expect_true(shared.order("read 3"), "the second process reads what the first one wrote after the opening");
}

PROCTOR_CHECK(Ipc, HandleNamesItsBuffer, "M41", kIpc, kGate, {"ipc.wrong_buffer"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Queue queue(context);
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < 4; ++i)
    buffers.push_back(device_copy(queue, context, noise(kSharedBytes, 10 + i)));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    step("given the handle of buffer " + std::to_string(i) + " of 4");
    Helper importer("import_memory", {Ipc::export_memory(context, buffers[i])});
    expect_true(importer.answer().at("ok").get<bool>(), "it can be opened");
    importer.order("read " + std::to_string(10 + i));
    expect_true(importer.answer().at("same").get<bool>(),
                "it has the contents of buffer " + std::to_string(i));
  }
}

PROCTOR_CHECK(Ipc, ExporterOutlivesItsImporter, "M41", kIpc, kGate, {"ipc.stale"}) {
  Shared shared(1);
  expect_true(shared.order("write 4"), "the second process writes");
  shared.importer->kill();
  expect_bytes("memory of the exporter after the importer was killed", noise(kSharedBytes, 4),
               read_bytes(shared.queue, shared.context, shared.memory.data(), kSharedBytes),
               shared.context.device());
}

PROCTOR_CHECK(Ipc, HandleOfFreedMemoryIsRefused, "M41", kIpc, suite::kWarn, {"ipc.freed_handle_opens"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Buffer memory = device_memory(context, kSharedBytes);
  step("given a handle whose memory is freed");
  const std::string token = Ipc::export_memory(context, memory);
  memory.try_free().or_throw();
  Helper importer("import_memory", {token});
  const auto answer = importer.try_answer();
  // A descriptor that is closed already cannot even be fetched, which is a refusal too.
  const bool opened = answer && answer->value("ok", false);
  expect_true(!opened, "it cannot be opened");
}

}  // namespace proctor::accel
