// Memory that two processes share: the same bytes, not a copy of them.
#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kIpc = by_vendor("Level Zero specification, Inter-Process Communication",
                                       "CUDA C++ Programming Guide, Interprocess Communication");
constexpr std::size_t kSharedBytes = 10000;

// Opens TOKEN of so many BYTES; then, ordered word by word: "read SEED" tells whether the bytes are
// noise(SEED), "write SEED" writes it.
PROCTOR_HELPER(import_memory) {
  const auto context = leased();
  const std::size_t size = std::stoull(words.at(1));
  Buffer memory;
  const Status status = Ipc::try_import(context, words.at(0), size, memory);
  suite::answer({{"status", status.name()}, {"ok", status.ok()}});
  if (!status.ok()) return;
  Queue queue(context);
  for (std::string line = suite::wait_for_input(); !line.empty(); line = suite::wait_for_input()) {
    const auto bytes = noise(size, std::stoull(line.substr(line.find(' '))));
    if (line.starts_with("write")) write(queue, context, memory.data(), bytes);
    suite::answer({{"same", read_bytes(queue, context, memory.data(), size) == bytes}});
  }
}

// Opens TOKEN twice over, closing it each time, and tells what is said of its first and last byte before and after, and
// of closing it again.
PROCTOR_HELPER(close_memory) {
  const auto context = leased();
  const std::size_t size = std::stoull(words.at(1));
  const auto kinds_at = [&](const std::byte* data) {
    return std::vector<std::string>{to_string(pointer_info(context, data).kind),
                                    to_string(pointer_info(context, data + size - 1).kind)};
  };
  auto rounds = nlohmann::json::array();
  for (int round = 0; round < 2; ++round) {
    Buffer memory;
    Ipc::try_import(context, words.at(0), size, memory).or_throw();
    std::byte* const data = memory.data();
    const auto open = kinds_at(data);
    const Status closed = memory.try_free();
    const auto after = kinds_at(data);
    const Status again = Ipc::try_close(context, data);
    rounds.push_back({{"open", open}, {"closed", closed.name()}, {"after", after}, {"again", again.ok()}});
  }
  suite::answer({{"rounds", rounds}, {"never_opened", Ipc::try_close(context, &rounds).ok()}});
}

// An exporter with `seed` in its memory, and a second process that has opened it.
struct Shared {
  explicit Shared(std::uint64_t seed, std::size_t bytes = kSharedBytes)
      : context(leased()), queue(context), memory(device_copy(queue, context, noise(bytes, seed))) {
    need(context.device().properties().ipc, "unsupported:ipc");
    step("given " + std::to_string(bytes) + " bytes of memory that a second process has opened");
    importer = std::make_unique<Helper>(
        "import_memory", std::vector{Ipc::export_memory(context, memory), std::to_string(bytes)});
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

PROCTOR_CHECK(Ipc, BuffersAreWholeToTheirLastByte, "M41", kIpc, kGate,
              .faults = {"ipc.wrong_buffer", "ipc.stale"},
              .axes = {{"bytes", {"1", "4097", "65536", "65537", "2097155"}, {"16777219"}}}) {
  suite::at_each_point([](const suite::Point& at) {
    const std::size_t bytes = at.size("bytes");
    Shared shared(1, bytes);
    expect_true(shared.order("read 1"), "the second process reads what the first one wrote");
    expect_true(shared.order("write 2"), "the second process reads what it wrote itself");
    expect_bytes("memory of the exporter", noise(bytes, 2),
                 read_bytes(shared.queue, shared.context, shared.memory.data(), bytes),
                 shared.context.device());
  });
}

PROCTOR_CHECK(Ipc, ClosedMemoryIsUnknown, "M41", kIpc, by_vendor(suite::kWarn, kGate),
              {"ipc.close_ignored"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  constexpr std::size_t kBytes = 70'001;
  const Buffer memory = device_memory(context, kBytes);
  step("given a second process that opens and closes memory, twice, and then closes what it never opened");
  Helper importer("close_memory", {Ipc::export_memory(context, memory), std::to_string(kBytes)});
  const auto answer = importer.answer();
  for (const auto& round : answer.at("rounds")) {
    expect_same("the first and the last byte while it is open", R"(["device","device"])",
                round.at("open").dump());
    expect_same("closing it answers", kSuccess, round.at("closed").get<std::string>());
    expect_same("the first and the last byte afterwards", R"(["unknown","unknown"])",
                round.at("after").dump());
    expect_true(!round.at("again").get<bool>(), "closing it again is refused");
  }
  expect_true(!answer.at("never_opened").get<bool>(), "closing what was never opened is refused");
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
    Helper importer("import_memory", {Ipc::export_memory(context, buffers[i]), std::to_string(kSharedBytes)});
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
  Helper importer("import_memory", {token, std::to_string(kSharedBytes)});
  const auto answer = importer.try_answer();
  // A descriptor that is closed already cannot even be fetched, which is a refusal too.
  const bool opened = answer && answer->value("ok", false);
  expect_true(!opened, "it cannot be opened");
}

}  // namespace proctor::accel
