// Checks NCCL on one card: invalid calls, abort, and operations of a single rank. NCCL uses NVIDIA's driver
// directly, so it cannot use simulated cards.
#include <array>
#include <optional>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/collectives/library.h"
#include "suites/collectives/nccl/api.h"
#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::collectives {
namespace {

using nccl::Code;
using nccl::to_string;
using suite::kGate;
using suite::kWarn;

constexpr const char* kTypes = "NCCL user guide, API: Types (ncclResult_t)";
constexpr const char* kCommunicators =
    "NCCL user guide, Creating a Communicator; Error handling and communicator abort";
constexpr const char* kManyRanks = "NCCL user guide, Environment Variables: NCCL_MULTI_RANK_GPU_ENABLE";
constexpr const char* kManyRanksVariable = "NCCL_MULTI_RANK_GPU_ENABLE";
constexpr int kManyRanksVersion = 23000;

void need_nccl_to_work() {
  need_provider("nccl");
  if (suite::on_simgpu()) suite::skip("not_on_simulator:nccl");
}

Identity identity_of(const nccl::Api& api) {
  return {
      .name = "nccl", .version = nccl::version_text(api.version), .number = api.version, .file = api.file};
}

const nccl::Api& library() {
  need_nccl_to_work();
  static std::string reason;
  static const std::optional<nccl::Api> kApi = nccl::load_api(reason);
  if (!kApi) suite::skip(reason_not_loaded("libnccl.so.2", reason));
  return *kApi;
}

struct Card {
  accel::Context context = accel::leased();
  accel::Queue queue{context};

  Card() { accel::use(context.device()); }
  nccl::Stream stream() const { return accel::native(queue); }
};

void expect_code(const std::string& call, Code expected, Code got, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  suite::expect_same(call, to_string(expected), to_string(got), file, line);
}

// A communicator of this process only. The destructor aborts it, because abort() does not wait.
class Alone {
 public:
  Alone(const nccl::Api& api, nccl::Config config) : api_(api) {
    nccl::UniqueId id{};
    expect_code("ncclGetUniqueId", Code::kSuccess, api_.get_unique_id(&id));
    begun_ = api_.init_rank(&communicator_, 1, id, 0, &config);
  }
  ~Alone() {
    if (communicator_ != nullptr) api_.abort(communicator_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  // Ends the check if the communicator was not created. A null communicator would make every call fail.
  void need() const {
    if (begun_ != Code::kSuccess && begun_ != Code::kInProgress) {
      suite::fail_because("nccl:" + to_string(begun_), "failed to make a communicator of one rank");
    }
  }
  Code begun() const { return begun_; }  // result of the call that created it
  nccl::Communicator* get() const { return communicator_; }
  Code abort() { return api_.abort(std::exchange(communicator_, nullptr)); }
  Code state() const {
    Code state = Code::kSuccess;
    const Code asked = api_.async_error(communicator_, &state);
    return asked == Code::kSuccess ? state : asked;
  }
  // Returns the first state other than "in progress". The time limit of the check ends an endless wait.
  Code settled() const {
    Code now = state();
    while (now == Code::kInProgress) now = state();
    return now;
  }

 private:
  const nccl::Api& api_;
  nccl::Communicator* communicator_ = nullptr;
  Code begun_ = Code::kSuccess;
};

// Expects that a sum over this process only is equal to its input.
void expect_works(const nccl::Api& api, Card& card, const Alone& alone) {
  alone.need();
  const std::vector<std::uint32_t> words = accel::noise_words(257, 7);
  const auto in = device_copy(card.queue, card.context, words);
  const auto out = device_copy(card.queue, card.context, std::vector<std::uint32_t>(words.size()));
  expect_code("ncclAllReduce", Code::kSuccess,
              api.all_reduce(in.data(), out.data(), words.size(), nccl::DataType::kU32, nccl::RedOp::kSum,
                             alone.get(), card.stream()));
  expect_code("after ncclAllReduce", Code::kSuccess, alone.settled());
  card.queue.synchronize();
  accel::expect_words("a sum of one", words, accel::read_as<std::uint32_t>(card.queue, card.context, out),
                      card.context.device());
}

void verify_alone(Group& group, Card& card, Exercise exercise) {
  if (exercise.operation == Operation::kAllGatherv || exercise.operation == Operation::kAllToAllv) {
    exercise.counts = {exercise.count};
  }
  const Bytes input = input_of(exercise, 0, 1);
  const Bytes wanted = expected(exercise, 0, 1);
  // One extra byte gives empty buffers an address, too.
  const auto in = accel::device_memory(card.context, input.size() + 1);
  const auto out = accel::device_memory(card.context, wanted.size() + 1);
  accel::write(card.queue, card.context, in.data(), input);
  accel::write(card.queue, card.context, out.data(), Bytes(wanted.size(), std::byte{0xc3}));
  std::byte* const result = exercise.in_place ? in.data() : out.data();
  expect_ok(describe(exercise), group.run({.operation = exercise.operation,
                                           .type = exercise.type,
                                           .reduction = exercise.reduction,
                                           .in = in.data(),
                                           .out = result,
                                           .count = exercise.count,
                                           .sends = sends_of(exercise, 0, 1),
                                           .receives = receives_of(exercise, 0, 1)}));
  expect_elements(describe(exercise), exercise.type, wanted,
                  accel::read_bytes(card.queue, card.context, result, wanted.size()));
}

void expect_refused_argument(const std::string& call, Code got) {
  suite::step(call);
  expect_code(call, Code::kInvalidArgument, got);
}

// Runs two ranks on one card in a second process, because the library reads the variable only once.
nlohmann::json two_ranks(bool allowed) {
  suite::Helper helper("nccl_two_ranks", {}, {{kManyRanksVariable, allowed ? "1" : "0"}});
  return helper.answer();
}

}  // namespace

PROCTOR_HELPER(nccl_two_ranks) {
  const nccl::Api& api = library();
  Card card;
  const std::array<accel::Queue, 2> queues{accel::Queue(card.context), accel::Queue(card.context)};
  std::array<nccl::Communicator*, 2> ranks{};
  nccl::UniqueId id{};
  api.get_unique_id(&id);
  // ncclGroupEnd does not report which call inside the group was refused.
  Code made = api.group_start();
  for (int rank = 0; rank < 2; ++rank) {
    nccl::Config config;
    const Code begun = api.init_rank(&ranks[static_cast<std::size_t>(rank)], 2, id, rank, &config);
    if (made == Code::kSuccess) made = begun;
  }
  const Code ended = api.group_end();
  if (made == Code::kSuccess) made = ended;
  if (made != Code::kSuccess) {
    const char* text = api.last_error(nullptr);
    return suite::answer({{"made", to_string(made)}, {"text", text != nullptr ? text : ""}});
  }
  const auto numbers = device_copy(card.queue, card.context, std::vector<std::uint32_t>{1, 2});
  Code summed = api.group_start();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::byte* const number = numbers.data() + rank * sizeof(std::uint32_t);
    const Code begun = api.all_reduce(number, number, 1, nccl::DataType::kU32, nccl::RedOp::kSum, ranks[rank],
                                      accel::native(queues[rank]));
    if (summed == Code::kSuccess) summed = begun;
  }
  const Code launched = api.group_end();
  if (summed == Code::kSuccess) summed = launched;
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  suite::answer({{"made", to_string(made)},
                 {"summed", to_string(summed)},
                 {"sums", accel::read_as<std::uint32_t>(card.queue, card.context, numbers)}});
}

// Tests every operation of the library with every type and reduction, in place and out of place.
PROCTOR_CHECK(Nccl, SingleRankReturnsInput, "C01", kNcclTests, kGate, .ranks = 1) {
  need_nccl_to_work();
  Provider& provider = load_provider("nccl");
  Card card;
  report_library(provider.identity());
  std::unique_ptr<Group> group;
  expect_ok("making the group",
            provider.make_group({.rank = 0, .size = 1, .store = rank_facts().store, .name = "alone"}, group));
  for (const auto& name : exercised_operation_names()) {
    const Operation operation = operation_named(name);
    suite::step(name);
    for (const auto& type : type_names()) {
      for (std::size_t by = 0; by < (reduces(operation) ? kReductions.size() : 1); ++by) {
        Exercise exercise{
            .operation = operation, .type = type_named(type), .reduction = static_cast<Reduction>(by)};
        for (exercise.count = 0; exercise.count <= 257; exercise.count += 257) {
          exercise.in_place = false;
          verify_alone(*group, card, exercise);
          exercise.in_place = true;
          verify_alone(*group, card, exercise);
        }
      }
    }
  }
}

PROCTOR_CHECK(Nccl, InvalidRootIsRejected, "C15", kTypes, kGate) {
  const nccl::Api& api = library();
  Card card;
  report_library(identity_of(api));
  const Alone alone(api, {});
  expect_works(api, card, alone);
  const auto memory = accel::device_memory(card.context, 64);
  void* const at = memory.data();
  const auto type = nccl::DataType::kU32;
  for (const int root : {1, -1}) {
    expect_refused_argument("ncclBroadcast, root " + std::to_string(root),
                            api.broadcast(at, at, 1, type, root, alone.get(), card.stream()));
    expect_refused_argument("ncclReduce, root " + std::to_string(root),
                            api.reduce(at, at, 1, type, nccl::RedOp::kSum, root, alone.get(), card.stream()));
  }
}

PROCTOR_CHECK(Nccl, InvalidTypeOrReductionIsRejected, "C16", kTypes, kGate) {
  const nccl::Api& api = library();
  Card card;
  report_library(identity_of(api));
  const Alone alone(api, {});
  expect_works(api, card, alone);
  const auto memory = accel::device_memory(card.context, 64);
  void* const at = memory.data();
  for (const int bad : {-1, 1000}) {
    expect_refused_argument("ncclAllReduce, type " + std::to_string(bad),
                            api.all_reduce(at, at, 1, static_cast<nccl::DataType>(bad), nccl::RedOp::kSum,
                                           alone.get(), card.stream()));
    expect_refused_argument("ncclAllReduce, reduction " + std::to_string(bad),
                            api.all_reduce(at, at, 1, nccl::DataType::kU32, static_cast<nccl::RedOp>(bad),
                                           alone.get(), card.stream()));
  }
}

PROCTOR_CHECK(Nccl, UninitializedConfigIsRejected, "C20", kCommunicators, kGate) {
  const nccl::Api& api = library();
  const Card card;
  report_library(identity_of(api));
  const Alone alone(api, {.magic = 0});
  expect_code("ncclCommInitRankConfig, with zeros instead of NCCL_CONFIG_INITIALIZER", Code::kInvalidArgument,
              alone.begun());
}

// Aborts before the communicator is complete, while work is enqueued, and when it is idle. The next
// communicator must work each time.
PROCTOR_CHECK(Nccl, NewCommunicatorWorksAfterAbort, "C25", kCommunicators, kGate) {
  const nccl::Api& api = library();
  Card card;
  report_library(identity_of(api));
  const auto numbers = accel::device_memory(card.context, 1 << 20);
  for (int round = 0; round < 3; ++round) {
    suite::step("aborted while it is made");
    Alone making(api, {.blocking = 0});
    making.need();
    expect_code("ncclCommAbort while it is made", Code::kSuccess, making.abort());
    suite::step("aborted after an operation");
    Alone busy(api, {});
    busy.need();
    expect_code("ncclAllReduce", Code::kSuccess,
                api.all_reduce(numbers.data(), numbers.data(), 1 << 18, nccl::DataType::kF32,
                               nccl::RedOp::kSum, busy.get(), card.stream()));
    expect_code("ncclCommAbort after an operation", Code::kSuccess, busy.abort());
    card.queue.synchronize();
    suite::step("made again");
    Alone next(api, {});
    expect_works(api, card, next);
    expect_code("ncclCommAbort of an idle communicator", Code::kSuccess, next.abort());
  }
}

PROCTOR_CHECK(Nccl, NonblockingInitSucceeds, "C30", kCommunicators, kGate) {
  const nccl::Api& api = library();
  Card card;
  report_library(identity_of(api));
  const Alone alone(api, {.blocking = 0});
  // The initialisation may already be complete when the check queries its state.
  suite::expect_true(
      alone.begun() == Code::kInProgress || alone.begun() == Code::kSuccess,
      "ncclCommInitRankConfig is in progress or through, and returned " + to_string(alone.begun()));
  suite::measure("nccl_init_in_progress", alone.begun() == Code::kInProgress ? 1 : 0, "1");
  expect_code("ncclCommGetAsyncError in the end", Code::kSuccess, alone.settled());
  if (alone.settled() == Code::kSuccess) expect_works(api, card, alone);
}

PROCTOR_CHECK(Nccl, TwoRanksPerGpuAreRejected, "C18", kManyRanks, kGate) {
  const nccl::Api& api = library();
  accel::leased_device();
  report_library(identity_of(api));
  const auto answer = two_ranks(false);
  suite::expect_same("two ranks on one card: " + answer.value("text", ""), to_string(Code::kInvalidUsage),
                     answer.value("made", ""));
}

PROCTOR_CHECK(Nccl, TwoRanksShareGpuIfEnabled, "C18", kManyRanks, kWarn) {
  const nccl::Api& api = library();
  accel::leased_device();
  if (api.version < kManyRanksVersion) {
    suite::skip("unsupported:nccl=" + nccl::version_text(api.version) + "<" +
                nccl::version_text(kManyRanksVersion));
  }
  report_library(identity_of(api));
  const auto answer = two_ranks(true);
  suite::expect_same("two ranks on one card: " + answer.value("text", ""), to_string(Code::kSuccess),
                     answer.value("made", ""));
  suite::expect_same("their sum", to_string(Code::kSuccess), answer.value("summed", "none"));
  suite::expect_same("1 + 2, in both", "[3,3]", answer.value("sums", nlohmann::json::array()).dump());
}

}  // namespace proctor::collectives
