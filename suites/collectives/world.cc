#include "suites/collectives/world.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "harness/journal/child_protocol.h"
#include "suites/collectives/library.h"
#include "suites/collectives/rule.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error(std::string(name) + " is not set: `proctor run` starts the ranks of a check");
  }
  return value;
}

int number(const char* name) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error(std::string(name) + "='" + text + "' is not a number");
  }
  return value;
}

GroupSpec all_ranks() {
  const RankFacts facts = rank_facts();
  return {.rank = facts.rank,
          .size = facts.size,
          .store = facts.store,
          .name = "world",
          .timeout = kGroupTimeout};
}

std::uint64_t digest(const Bytes& bytes) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

[[noreturn]] void end_of_check(const std::string& what, const Answer& answer, const char* file, int line) {
  suite::fail_because(std::string("collective:") + to_string(answer.ended), what + ": " + answer.text, file,
                      line);
}

}  // namespace

RankFacts rank_facts() {
  return {.rank = number(child::kRankVariable),
          .size = number(child::kWorldSizeVariable),
          .store = variable(child::kRendezvousVariable)};
}

World::World(const std::string& provider) : World(all_ranks(), provider) {}

World::World(const GroupSpec& spec, const std::string& provider)
    : spec_(spec), provider_(load_provider(provider)), exceptions_(std::uncaught_exceptions()) {
  const Answer answer = provider_.make_group(spec_, group_);
  if (!answer.ok()) end_of_check("making the group " + spec_.name, answer, __FILE__, __LINE__);
  report_library(provider_.identity());
}

World::~World() {
  if (!broken_ && std::uncaught_exceptions() == exceptions_) part();
}

void World::part() {
  Answer answer;
  try {
    std::vector<std::uint64_t> all;
    answer = supports(Operation::kBarrier, Type::kU8) ? barrier() : gather_everywhere(0, all);
  } catch (const std::exception& error) {  // an exception of the device
    answer = {Ended::kOther, error.what()};
  }
  if (!answer.ok())
    suite::report({.message = "parting: " + answer.text, .expected = "ok", .got = to_string(answer.ended)});
}

// All ranks skip. The first one must stay until the last one has joined.
void World::skip(std::string reason) {
  part();
  suite::skip(std::move(reason));
}

Answer World::run(const Call& call) {
  Answer answer = group_->run(call);
  broken_ = broken_ || (!answer.ok() && answer.ended != Ended::kRefused);
  return answer;
}

Answer World::abort() {
  broken_ = true;
  return group_->abort();
}

Features World::features() const { return provider_.features(); }

bool World::supports(Operation operation, Type type, Reduction reduction) const {
  return provider_.supports(operation, type, reduction);
}

void World::need_any(Operation operation, Type type) {
  for (std::size_t i = 0; i < kReductions.size(); ++i) {
    if (supports(operation, type, static_cast<Reduction>(i))) return;
  }
  skip(fmt::format("unsupported:{}:{}", to_string(operation), to_string(type)));
}

void World::need(Operation operation, Type type, Reduction reduction) {
  if (supports(operation, type, reduction)) return;
  skip(operation == Operation::kBarrier ? "unsupported:barrier"
                                        : fmt::format("unsupported:{}:{}:{}", to_string(operation),
                                                      to_string(type), to_string(reduction)));
}

Bytes World::verify(const Exercise& exercise, const char* file, int line) {
  const bool supported = supports(exercise.operation, exercise.type, exercise.reduction) &&
                         (exercise.count != 0 || provider_.takes_nothing(exercise.operation));
  suite::step(describe(exercise) + (supported ? "" : ", which the library does not have"));
  Bytes output;
  const Answer answer = perform(exercise, input_of(exercise, rank(), size()), output);
  if (!supported) {
    expect_ended(describe(exercise), Ended::kRefused, answer, file, line);
    return {};
  }
  if (!answer.ok()) end_of_check(describe(exercise), answer, file, line);
  expect_elements(describe(exercise), exercise.type, expected(exercise, rank(), size()), output, file, line);
  return output;
}

Bytes World::result_of(const Exercise& exercise, const Bytes& input, const char* file, int line) {
  suite::step(describe(exercise));
  Bytes output;
  const Answer answer = perform(exercise, input, output);
  if (!answer.ok()) end_of_check(describe(exercise), answer, file, line);
  return output;
}

Answer World::perform(const Exercise& exercise, const Bytes& input, Bytes& output) {
  const std::size_t width = bytes_of(exercise.type);
  const std::size_t out_bytes = output_elements(exercise, rank(), size()) * width;
  Frames frames(exercise, rank(), out_bytes, input);
  frames.lend(space_, provider_.memory());
  const Answer answer = run({.operation = exercise.operation,
                             .type = exercise.type,
                             .reduction = exercise.reduction,
                             .in = frames.in(),
                             .out = frames.out(),
                             .count = exercise.count,
                             .root = exercise.root,
                             .tag = 0,
                             .sends = sends_of(exercise, rank(), size()),
                             .receives = receives_of(exercise, rank(), size()),
                             .source = nullptr});
  frames.take_back();
  frames.expect_untouched(describe(exercise));
  output = frames.result();
  return answer;
}

Answer World::send(int to, const Bytes& message, std::uint32_t tag) {
  const Tensor tensor(space_, provider_.memory(), message);
  return run({.operation = Operation::kSend,
              .type = Type::kU8,
              .in = tensor.data(),
              .count = message.size(),
              .root = to,
              .tag = tag});
}

Answer World::receive(int from, Bytes& message, std::uint32_t tag, int* source) {
  const Tensor tensor(space_, provider_.memory(), message);
  Answer answer = run({.operation = Operation::kReceive,
                       .type = Type::kU8,
                       .out = tensor.data(),
                       .count = message.size(),
                       .root = from,
                       .tag = tag,
                       .source = source});
  message = tensor.bytes();
  return answer;
}

Answer World::barrier() { return run({.operation = Operation::kBarrier}); }

Answer World::gather_everywhere(std::uint64_t own, std::vector<std::uint64_t>& all) {
  Bytes in(sizeof own), out(in.size() * static_cast<std::size_t>(size()));
  std::memcpy(in.data(), &own, in.size());
  const Tensor from(space_, provider_.memory(), in), to(space_, provider_.memory(), out);
  Answer answer = run({.operation = Operation::kAllGather,
                       .type = Type::kU64,
                       .in = from.data(),
                       .out = to.data(),
                       .count = 1});
  out = to.bytes();
  all.resize(static_cast<std::size_t>(size()));
  std::memcpy(all.data(), out.data(), out.size());
  return answer;
}

void World::expect_same_everywhere(const std::string& what, const Bytes& bytes, const char* file, int line) {
  const std::uint64_t own = digest(bytes);
  std::vector<std::uint64_t> all;
  const Answer answer = gather_everywhere(own, all);
  if (!answer.ok()) end_of_check("comparing " + what, answer, file, line);
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other] == own) continue;
    suite::report({.message = fmt::format("{}: ranks {} and {}", what, rank(), other),
                   .expected = "the same bits",
                   .got = "different bits"},
                  file, line);
  }
}

std::string describe(const Exercise& exercise) {
  std::string text = to_string(exercise.operation);
  if (exercise.counts.empty()) {
    text += fmt::format(" of {} {}", exercise.count, to_string(exercise.type));
  } else {
    text += fmt::format(" of {} {}", fmt::join(exercise.counts, ", "), to_string(exercise.type));
  }
  if (reduces(exercise.operation)) text += fmt::format(" by {}", to_string(exercise.reduction));
  if (exercise.root != 0) text += fmt::format(", root {}", exercise.root);
  if (exercise.in_place) text += ", in place";
  if (exercise.offset != 0) text += fmt::format(", {} elements off", exercise.offset);
  return text + fmt::format(", round {}", exercise.round);
}

void expect_ok(const std::string& what, const Answer& answer, const char* file, int line) {
  if (!answer.ok()) end_of_check(what, answer, file, line);
}

void expect_ended(const std::string& what, Ended ended, const Answer& answer, const char* file, int line) {
  if (answer.ended == ended) return;
  suite::report({.message = what + (answer.text.empty() ? "" : ": " + answer.text),
                 .expected = to_string(ended),
                 .got = to_string(answer.ended)},
                file, line);
}

void expect_elements(const std::string& what, Type type, const Bytes& expected, const Bytes& got,
                     const char* file, int line) {
  const std::size_t width = bytes_of(type);
  if (expected.size() != got.size()) {
    suite::report({.message = what + ": elements",
                   .expected = std::to_string(expected.size() / width),
                   .got = std::to_string(got.size() / width)},
                  file, line);
    return;
  }
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t at = 0; at < expected.size(); at += width) {
    if (std::memcmp(&expected[at], &got[at], width) != 0 && wrong++ == 0) first = at;
  }
  if (wrong == 0) return;
  suite::report({.message = fmt::format("{}: element {} ({} of {} differ)", what, first / width, wrong,
                                        expected.size() / width),
                 .expected = text_of(type, &expected[first]),
                 .got = text_of(type, &got[first])},
                file, line);
}

}  // namespace proctor::collectives
