// Checks of memory that two processes share through IPC handles. Both must see the same bytes, not a copy.
#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
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
                                       "CUDA Programming Guide, Interprocess Communication");
constexpr std::size_t kSharedBytes = 10000;
constexpr std::size_t kSharedPage = 65'536;

// The places of shared memory, as the helpers take them.
constexpr const char* kWholeCard = "card";
constexpr const char* kLastPart = "part";  // the last tile of the card, or a card without tiles
Context context_at(const std::string& place) {
  return Context(place == kLastPart ? parts_of(leased_device()).back() : leased_device());
}

// Opens TOKEN with BYTES bytes at PLACE (default: the card). The order "read SEED" compares the bytes with
// noise(SEED). The order "write SEED" writes noise(SEED).
PROCTOR_HELPER(import_memory) {
  const Context context = context_at(words.size() > 2 ? words[2] : kWholeCard);
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

// Opens and closes TOKEN twice. Sends what the driver reports about its first and last byte before and after each
// close, and the result of a second close.
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
    const Device reported = pointer_info(context, data).device;
    const bool at_home = reported == context.device();
    // A driver of Level Zero may accept any address inside the allocation for the whole.
    const bool middle =
        (suite::on_simgpu() || kVendor == Vendor::kNvidia) && Ipc::try_close(context, data + 64).ok();
    const Status closed = memory.try_free();
    const auto after = kinds_at(data);
    const Status again = Ipc::try_close(context, data);
    rounds.push_back({{"open", open},
                      {"at_home", at_home},
                      {"middle", middle},
                      {"closed", closed.name()},
                      {"after", after},
                      {"again", again.ok()}});
  }
  suite::answer({{"rounds", rounds}, {"never_opened", Ipc::try_close(context, &rounds).ok()}});
}

// Opens TOKEN with BYTES bytes and closes it. Sends the free memory before, while it is open, and afterwards.
PROCTOR_HELPER(count_imported) {
  const auto context = leased();
  const auto free = [&] { return context.device().memory().free; };
  const std::uint64_t before = free();
  Buffer memory;
  Ipc::try_import(context, words.at(0), std::stoull(words.at(1)), memory).or_throw();
  const std::uint64_t opened = free();
  memory.try_free().or_throw();
  suite::answer({{"before", before}, {"opened", opened}, {"closed", free()}});
}

// Memory with the contents noise(seed), and a second process that has opened it.
struct Shared {
  explicit Shared(std::uint64_t seed, std::size_t bytes = kSharedBytes, const char* place = kWholeCard)
      : context(context_at(place)), queue(context), memory(device_copy(queue, context, noise(bytes, seed))) {
    need(context.device().properties().ipc, "unsupported:ipc");
    step("given " + std::to_string(bytes) + " bytes of memory that a second process has opened");
    importer = std::make_unique<Helper>(
        "import_memory",
        std::vector<std::string>{Ipc::export_memory(context, memory), std::to_string(bytes), place});
    const auto opened = importer->answer();
    if (!opened.at("ok").get<bool>()) {
      suite::fail_because("ipc_refused", "the import returned " + opened.at("status").get<std::string>());
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

PROCTOR_CHECK(Ipc, ImporterReadsExportedBytes, "M41", kIpc, kGate, {"ipc.wrong_buffer"}) {
  Shared shared(1);
  expect_true(shared.order("read 1"), "the second process reads the bytes of the first one");
}

PROCTOR_CHECK(Ipc, ExporterSeesImporterWrites, "S1.18", kIpc, kGate, {"ipc.open_private_copy"}) {
  Shared shared(1);
  expect_true(shared.order("write 2"), "the second process reads its own bytes");
  expect_bytes("memory of the exporter", noise(kSharedBytes, 2),
               read_bytes(shared.queue, shared.context, shared.memory.data(), kSharedBytes),
               shared.context.device());
}

PROCTOR_CHECK(Ipc, ImporterSeesExporterWrites, "S1.18", kIpc, kGate, {"ipc.open_private_copy"}) {
  Shared shared(1);
  write(shared.queue, shared.context, shared.memory.data(), noise(kSharedBytes, 3));
  expect_true(shared.order("read 3"),
              "the second process reads the bytes that the first one wrote after the opening");
}

// A driver may spread memory of a card over its tiles. For such memory, the gate does not require "an IPC memory
// handle for exporting it" (zeMemGetIpcHandle). On a card with tiles, buffers larger than a page are therefore
// memory of a tile.
PROCTOR_CHECK(Ipc, EveryBufferSizeIsByteExact, "M41", kIpc, kGate,
              .faults = {"ipc.wrong_buffer", "ipc.open_private_copy"},
              .axes = {{"bytes", {"1", "4097", "65536", "65537", "2097155"}, {"16777219"}}}) {
  suite::at_each_point([](const suite::Point& at) {
    const std::size_t bytes = at.size("bytes");
    Shared shared(1, bytes, bytes > kSharedPage ? kLastPart : kWholeCard);
    expect_true(shared.order("read 1"), "the second process reads the bytes of the first one");
    expect_true(shared.order("write 2"), "the second process reads its own bytes");
    expect_bytes("memory of the exporter", noise(bytes, 2),
                 read_bytes(shared.queue, shared.context, shared.memory.data(), bytes),
                 shared.context.device());
  });
}

PROCTOR_CHECK(Ipc, ClosedPointerHasUnknownType, "M41", kIpc, by_vendor(suite::kWarn, kGate),
              {"ipc.close_ignored"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  constexpr std::size_t kBytes = 60'001;  // A driver may spread more than a page over the tiles.
  const Buffer memory = device_memory(context, kBytes);
  step(
      "given a second process that opens and closes memory twice, and then closes memory that it never "
      "opened");
  Helper importer("close_memory", {Ipc::export_memory(context, memory), std::to_string(kBytes)});
  const auto answer = importer.answer();
  for (const auto& round : answer.at("rounds")) {
    expect_same("the first and the last byte while it is open", R"(["device","device"])",
                round.at("open").dump());
    expect_true(round.at("at_home").get<bool>(),
                "the memory belongs to the device on which it was allocated");
    expect_true(!round.at("middle").get<bool>(), "closing an address within it is refused");
    expect_same("the result of closing it", kSuccess, round.at("closed").get<std::string>());
    expect_same("the first and the last byte afterwards", R"(["unknown","unknown"])",
                round.at("after").dump());
    expect_true(!round.at("again").get<bool>(), "closing the memory again is refused");
  }
  expect_true(!answer.at("never_opened").get<bool>(), "closing memory that was never opened is refused");
}

PROCTOR_CHECK(Ipc, HandleOpensExportedBuffer, "M41", kIpc, kGate, {"ipc.wrong_buffer"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Queue queue(context);
  std::vector<Buffer> buffers;
  std::vector<std::string> handles;
  for (std::uint64_t i = 0; i < 4; ++i) {
    buffers.push_back(device_copy(queue, context, noise(kSharedBytes, 10 + i)));
    handles.push_back(Ipc::export_memory(context, buffers.back()));
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    step("given the handle of buffer " + std::to_string(i) + " of 4, made before any was opened");
    Helper importer("import_memory", {handles[i], std::to_string(kSharedBytes)});
    expect_true(importer.answer().at("ok").get<bool>(), "the handle can be opened");
    importer.order("read " + std::to_string(10 + i));
    expect_true(importer.answer().at("same").get<bool>(),
                "the opened memory has the contents of buffer " + std::to_string(i));
  }
}

PROCTOR_CHECK(Ipc, ExporterKeepsMemoryAfterImporterDies, "M41", kIpc, kGate, {"ipc.open_private_copy"}) {
  Shared shared(1);
  expect_true(shared.order("write 4"), "the second process writes");
  shared.importer->kill();
  expect_bytes("memory of the exporter after the importer was killed", noise(kSharedBytes, 4),
               read_bytes(shared.queue, shared.context, shared.memory.data(), kSharedBytes),
               shared.context.device());
}

PROCTOR_CHECK(Ipc, HandleOfFreedMemoryIsRejected, "M41", kIpc, suite::kWarn, {"ipc.freed_handle_opens"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Buffer memory = device_memory(context, kSharedBytes);
  step("given a handle whose memory is freed");
  const std::string token = Ipc::export_memory(context, memory);
  memory.try_free().or_throw();
  Helper importer("import_memory", {token, std::to_string(kSharedBytes)});
  const auto answer = importer.try_answer();
  // If the descriptor is already closed, the helper fails to fetch it. This is a refusal too.
  const bool opened = answer && answer->value("ok", false);
  expect_true(!opened, "the handle cannot be opened");
}

// The driver may reuse the place of a freed allocation. An old handle must not open the new memory. A handle of
// Level Zero contains a descriptor number, which a real driver can reuse.
PROCTOR_CHECK(Ipc, NewHandleOpensReallocatedBuffer, "M41", kIpc, suite::kWarn,
              {"ipc.freed_handle_opens", "ipc.wrong_buffer"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  // No document specifies it. NVIDIA's driver 580.159.04 opens it.
  const bool old_is_known = suite::on_simgpu();
  Queue queue(context);
  std::vector<std::string> old;
  for (std::uint64_t round = 0; round < 3; ++round) {
    step("given memory and its second handle, and that of memory that was freed before");
    Buffer memory = device_copy(queue, context, noise(kSharedBytes, 20 + round));
    static_cast<void>(Ipc::export_memory(context, memory));
    const std::string token = Ipc::export_memory(context, memory);
    for (const auto& stale : old) {
      if (!old_is_known) continue;
      Helper importer("import_memory", {stale, std::to_string(kSharedBytes)});
      const auto answer = importer.try_answer();
      expect_true(!(answer && answer->value("ok", false)), "a handle of freed memory is refused");
    }
    Helper importer("import_memory", {token, std::to_string(kSharedBytes)});
    expect_true(importer.answer().at("ok").get<bool>(), "the new handle opens");
    importer.order("read " + std::to_string(20 + round));
    expect_true(importer.answer().at("same").get<bool>(),
                "the opened memory has the contents of the new memory");
    importer.kill();
    memory.try_free().or_throw();
    old = {token};
  }
}

PROCTOR_CHECK(Ipc, TwoImportersShareMemory, "M41", kIpc, kGate,
              {"ipc.open_private_copy", "ipc.wrong_buffer"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  Queue queue(context);
  Buffer memory = device_copy(queue, context, noise(kSharedBytes, 30));
  const std::vector words = {Ipc::export_memory(context, memory), std::to_string(kSharedBytes)};
  step("given two processes that have opened the same memory");
  Helper first("import_memory", words), second("import_memory", words);
  const auto said = [](Helper& helper, const std::string& order) {
    helper.order(order);
    return helper.answer().at("same").get<bool>();
  };
  expect_true(first.answer().at("ok").get<bool>() && second.answer().at("ok").get<bool>(),
              "both processes can open the memory");
  expect_true(said(first, "read 30") && said(second, "read 30"),
              "both processes read the bytes of the exporter");
  expect_true(said(first, "write 31") && said(second, "read 31"),
              "one process reads the bytes of the other one");
  step("then the end of the first one, which closes its mapping");
  first.finish();
  expect_true(said(second, "read 31") && said(second, "write 32"),
              "the other process can still read and write the memory");
  expect_bytes("memory of the exporter", noise(kSharedBytes, 32),
               read_bytes(queue, context, memory.data(), kSharedBytes), context.device());
}

// Opened memory counts for the process that allocated it.
PROCTOR_CHECK(Ipc, OpenedHandleTakesNoMemory, "M41", kIpc, suite::kWarn,
              {"sysman.freeze_free_memory:after=1"}) {
  const auto context = leased();
  need(context.device().properties().ipc, "unsupported:ipc");
  const Buffer counted = need_counted_memory(context);
  const Buffer memory = used_memory(context, kHeld);
  const std::uint64_t before = context.device().memory().free;
  step("given a second process that opens memory, and closes it");
  Helper importer("count_imported", {Ipc::export_memory(context, memory), std::to_string(kHeld)});
  const auto reported = importer.answer();
  const auto reported_at = [&](const char* when) { return reported.at(when).get<std::uint64_t>(); };
  for (const char* when : {"opened", "closed"})
    expect_true(reported_at(when) + kFreeSlack >= reported_at("before") &&
                    reported_at("before") + kFreeSlack >= reported_at(when),
                std::string("free memory when it is ") + when + ": " + std::to_string(reported_at(when)) +
                    " is as before, when it was " + std::to_string(reported_at("before")));
  importer.finish();
  const std::uint64_t after = context.device().memory().free;
  expect_true(after + kFreeSlack >= before && before + kFreeSlack >= after,
              "free memory of the first process is as before: " + std::to_string(after) + ", before " +
                  std::to_string(before));
}

}  // namespace proctor::accel
