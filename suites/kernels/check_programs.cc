// Whole programs: a device comes to the same numbers as the host, however the compiler was told to optimize them.
#include <cstring>
#include <functional>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kLanguage = by_vendor("OpenCL C specification, expressions and statements",
                                            "CUDA Programming Guide, C++ Language Support");
constexpr const char* kProgramArguments = by_vendor("Level Zero specification, zeKernelSetArgumentValue",
                                                    "CUDA Programming Guide, __global__ Function Parameters");
constexpr const char* kLocalVariables =
    by_vendor("OpenCL C specification, __local address space", "CUDA Programming Guide, Shared Memory");

// The host's own run of the programs, which convert numbers without saying so, as C does.
namespace host_side {
using uchar = std::uint8_t;
using ushort = std::uint16_t;
using uint = std::uint32_t;
using ulong = std::uint64_t;
#define GLOBAL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include "suites/kernels/device/programs.h"
#pragma GCC diagnostic pop
#undef GLOBAL
}  // namespace host_side

const std::vector<std::string> kProgramModules = by_vendor<Texts>({"programs", "programs_O0"}, {"programs"});

// Some of the items have small numbers, and some the same number several times.
std::vector<std::uint64_t> program_inputs(std::size_t items) {
  std::vector<std::uint64_t> inputs;
  const auto words = noise_words(2 * items * kInputs, 3);
  for (std::size_t i = 0; i < items * kInputs; ++i) {
    const std::uint64_t wide = std::uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
    inputs.push_back(i / kInputs % 4 == 1 ? wide % 10 : i / kInputs % 4 == 2 ? wide % 2 : wide);
  }
  return inputs;
}

// Runs a kernel of programs.cl and compares what it wrote, also behind the last result.
void expect_program(Queue& queue, const Module& module, const Context& context, const std::string& what,
                    const Launch& launch, const Arguments& behind,
                    const std::vector<std::uint64_t>& expected) {
  const auto out = device_copy(queue, context, std::vector<std::uint64_t>(expected.size(), 7));
  Arguments given = {argument(out)};
  given.insert(given.end(), behind.begin(), behind.end());
  queue.launch(Kernel(module, what), launch, given);
  queue.synchronize();
  expect_longs(what, expected, read_as<std::uint64_t>(queue, context, out), context.device());
}

template <typename T>
T noise_as(std::uint64_t seed) {
  T result;
  const auto bytes = noise(sizeof result, seed);
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

}  // namespace

PROCTOR_CHECK(Program, ComesToTheNumbersOfTheHost, "K71", kLanguage, kGate,
              {"kernel.wrong_result:kernel=run_structures,at=3",
               "kernel.wrong_result:kernel=run_calls,at=5"}) {
  constexpr std::uint32_t kItems = 24;
  const auto context = leased();
  Queue queue(context);
  const auto inputs = program_inputs(kItems);
  const auto in = device_copy(queue, context, inputs);
  for (const auto& name : kProgramModules) {
    const Module module = Module::load(context, name);
    const auto expect = [&](const std::string& program, auto run) {
      step("given " + program + " of " + name);
      std::vector<std::uint64_t> expected(kItems * kResults, 7);
      for (std::size_t i = 0; i < kItems; ++i)
        run(inputs.data() + kInputs * i, expected.data() + kResults * i);
      expect_program(queue, module, context, "run_" + program, groups_of(3, kItems / 3), {argument(in)},
                     expected);
    };
#define PROCTOR_EXPECT_PROGRAM(name) expect(#name, host_side::name);
    PROGRAMS(PROCTOR_EXPECT_PROGRAM)
#undef PROCTOR_EXPECT_PROGRAM
  }
}

PROCTOR_CHECK(Program, StructuresArriveAsArguments, "K16", kProgramArguments, kGate,
              {"kernel.wrong_argument:kernel=take_structures,arg=5",
               "kernel.wrong_result:kernel=take_structures,at=3"}) {
  using namespace host_side;
  const auto context = leased();
  Queue queue(context);
  const auto a = noise_as<Bytes1>(1);
  const auto c = noise_as<Bytes3>(2);
  const auto e = noise_as<Bytes17>(3);
  const auto g = noise_as<Odd>(4);
  const auto i = noise_as<Packed>(5);
  const auto k = noise_as<Nested>(6);
  const auto m = noise_as<Bytes129>(7);
  const auto o = noise_as<Deep>(8);
  const std::uint64_t b = 0x123456789abcdef0, j = 0xfedcba9876543210;
  const std::uint32_t f = 0x87654321, n = 0x12345678;
  const std::uint16_t d = 0xfedc;
  const std::uint8_t h = 200, l = 201;
  const void* const nothing = nullptr;
  std::vector<std::uint64_t> expected = {
      a.bytes[0],
      b,
      digest_private(c.bytes, 3),
      d,
      digest_private(e.bytes, 17),
      f,
      g.a + g.b * 256ul + digest_private(g.c, 5) * 3,
      h,
      i.a + i.b * 256ul + i.c * 3ul + i.d * 5,
      j,
      k.wide + k.odd[0].b + k.odd[1].c[2] + k.packed.d + k.packed.b + k.last,
      l,
      digest_private(m.bytes, 129),
      n,
      sum_of(&o, 0),
      sum_of(&o, 1),
      1};
  auto changed = m;
  changed.bytes[128] = 1;
  expected.push_back(digest_private(changed.bytes, 129));
  for (const auto& name : kProgramModules) {
    step("given structures of eight sizes between numbers, to " + name);
    expect_program(queue, Module::load(context, name), context, "take_structures", groups_of(2, 3),
                   arguments(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, nothing), expected);
  }
}

PROCTOR_CHECK(Program, LocalVariablesAreApart, "K14", kLocalVariables, kGate,
              {"kernel.wrong_result:kernel=locals_backward,at=3"}) {
  constexpr std::uint32_t kItems = 13, kGroups = 3, kSeed = 100;
  const auto context = leased();
  Queue queue(context);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t item = 0; item < kItems * kGroups; ++item) {
    const std::uint64_t other = (item % kItems + 1) % kItems, small = (kSeed * 5 + other) % 256;
    expected.insert(expected.end(),
                    {(kSeed + other) % 256, kSeed * 3 + other, small * 0x10101, kSeed * 7 + other,
                     other + (kSeed + other) * 3 + other * 3 * 5 + other * 5 * 7, kSeed, 0, 7});
  }
  for (const auto& name : kProgramModules) {
    const Module module = Module::load(context, name);
    for (const char* kernel : {"locals_forward", "locals_backward"}) {
      step(std::string("given ") + kernel + " of " + name);
      expect_program(queue, module, context, kernel, groups_of(kGroups, kItems), arguments(kSeed), expected);
    }
  }
}

PROCTOR_CHECK(Program, OnePointerLeadsToMemoryOfEachKind, "K71", kLanguage, kGate,
              {"kernel.wrong_result:kernel=places,at=3"}) {
  const auto context = leased();
  Queue queue(context);
  const std::vector<std::uint64_t> in = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto given = device_copy(queue, context, in);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < in.size(); ++i) {
    std::vector<std::uint64_t> shared, own;
    for (const std::uint64_t value : in) {
      shared.push_back(value * 3);
      own.push_back(value + i);
    }
    const std::vector<std::uint64_t>* const places[] = {&in, &shared, &own};
    std::uint64_t sum = 0;
    for (const std::uint64_t value : *places[i % 3]) sum = sum * 3 + value;
    expected.insert(expected.end(), {sum, places[(i + 1) % 3]->front(), own[i] + 1, 7, 5, 7, 7, 7});
  }
  for (const auto& name : kProgramModules) {
    step("given " + name);
    expect_program(queue, Module::load(context, name), context, "places", groups_of(1, 8), {argument(given)},
                   expected);
  }
}

PROCTOR_CHECK(Program, MemoryIsReachedUpToItsEnds, "K71", kLanguage, kGate,
              {"kernel.wrong_result:kernel=run_touch_ends,at=0", "kernel.skip:kernel=run_touch_ends"}) {
  const auto context = leased();
  Queue queue(context);
  for (const auto& name : kProgramModules) {
    const Module module = Module::load(context, name);
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{65536}, std::size_t{2} << 20}) {
      step("given " + std::to_string(bytes) + " bytes and " + name);
      std::vector<std::uint8_t> expected(bytes, 254);
      const auto memory = device_copy(queue, context, expected);
      queue.launch(Kernel(module, "run_touch_ends"), groups_of(1, 1),
                   arguments(memory, std::uint64_t{bytes}));
      queue.synchronize();
      host_side::touch_ends(expected.data(), bytes);
      expect_values("memory", expected, read_as<std::uint8_t>(queue, context, memory), context.device());
    }
  }
}

}  // namespace proctor::accel
