// Checks of whole programs. A device must compute the same numbers as the host, with every optimization of the
// compiler.
#include <cstring>
#include <functional>
#include <limits>

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

// The programs as functions of the host. They use implicit conversions, as C does.
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

// Inputs of the programs. Some items have small numbers, and some have equal numbers.
std::vector<std::uint64_t> program_inputs(std::size_t items) {
  std::vector<std::uint64_t> inputs;
  const auto words = noise_words(2 * items * kInputs, 3);
  for (std::size_t i = 0; i < items * kInputs; ++i) {
    const std::uint64_t wide = std::uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
    inputs.push_back(i / kInputs % 4 == 1 ? wide % 10 : i / kInputs % 4 == 2 ? wide % 2 : wide);
  }
  return inputs;
}

// Runs a kernel of programs.cl and compares its results, and the memory past the last result.
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

PROCTOR_CHECK(Program, ResultMatchesHost, "K71", kLanguage, kGate,
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

PROCTOR_CHECK(Program, StructureArgumentsArriveUnchanged, "K16", kProgramArguments, kGate,
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

PROCTOR_CHECK(Program, LocalMemoryVariablesDoNotOverlap, "K14", kLocalVariables, kGate,
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

PROCTOR_CHECK(Program, GenericPointerReachesEveryAddressSpace, "K71", kLanguage, kGate,
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

PROCTOR_CHECK(Program, BufferEndsAreReachable, "K71", kLanguage, kGate,
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

// Checks of control flow: switches over numbers of every width, calls, and long loops.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kControl = by_vendor(
    "SPIR-V specification, control-flow and function instructions; OpenCL C specification, statements",
    "CUDA Programming Guide, C++ Language Support");

template <typename T>
struct Labels {
  T first, second, third, fourth;
};

// The kernels of one module, of the forms name(in, out, n) and name(in, out, more, n).
class Control {
 public:
  explicit Control(const Context& context)
      : context_(context), queue_(context), module_(Module::load(context, "control")) {}

  template <typename In, typename... More>
  void expect(const std::string& kernel, const std::vector<In>& in,
              const std::vector<std::uint32_t>& expected, More... more) {
    const auto n = static_cast<std::uint32_t>(in.size());
    const auto from = device_copy(queue_, context_, in);
    const Buffer to = device_memory(context_, n * sizeof(std::uint32_t));
    step("given " + std::to_string(n) + " work-items of " + kernel);
    queue_.launch(Kernel(module_, kernel), cover(n, 32), arguments(from, to, more..., n));
    queue_.synchronize();
    expect_words(kernel, expected, read_as<std::uint32_t>(queue_, context_, to), context_.device());
  }

  // Tests each label, its neighbours, and numbers that differ from it in one bit.
  template <typename T>
  void expect_switch(const std::string& name, const Labels<T>& labels) {
    std::vector<T> in;
    for (const T label : {T{0}, labels.first, labels.second, labels.third, labels.fourth}) {
      using Word = std::make_unsigned_t<T>;
      const auto word = static_cast<Word>(label);
      in.push_back(label);
      in.push_back(static_cast<T>(static_cast<Word>(word + 1)));
      in.push_back(static_cast<T>(static_cast<Word>(word - 1)));
      for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit)
        in.push_back(static_cast<T>(static_cast<Word>(word ^ (std::uint64_t{1} << bit))));
    }
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < in.size(); ++i) {
      const T x = in[i];
      expected.push_back(x == 0               ? 3 * i
                         : x == labels.first  ? i + 100
                         : x == labels.second ? i ^ 0x5555
                         : x == labels.third  ? ~i
                         : x == labels.fourth ? i << 3 | 1
                                              : 99);
    }
    expect("switch_" + name, in, expected);
  }

 private:
  Context context_;
  Queue queue_;
  Module module_;
};

// The functions of control.cl, on the host.
std::uint32_t shuffled(std::uint32_t first, std::uint32_t by) {
  std::uint32_t own[8] = {};
  for (std::uint32_t k = 0; k < 8; ++k) own[k * by % 8] = first + k * k;
  std::uint32_t result = 0;
  for (std::uint32_t k = 0; k < 8; ++k) result = result * 3 + own[k ^ (first & 7)];
  return result;
}
std::uint32_t between(std::uint32_t first, std::uint32_t by) {
  std::uint32_t own[5] = {};
  for (std::uint32_t k = 0; k < 5; ++k) own[(k + by) % 5] = first ^ k;
  std::uint32_t result = shuffled(first, by) + shuffled(first + 1, by + 2);
  for (std::uint32_t k = 0; k < 5; ++k) result = result * 5 + own[(first + k) % 5];
  return result;
}
std::uint32_t stepped(std::uint32_t value, std::uint32_t by) { return value * 1664525 + by; }

}  // namespace

PROCTOR_CHECK(ControlFlow, SwitchComparesEveryBit, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=switch_i64,arg=1,at=4",
               "kernel.wrong_result:kernel=switch_u8,arg=1,at=4"}) {
  Control control(leased());
  control.expect_switch<std::int8_t>("i8", {-1, -128, 127, 5});
  control.expect_switch<std::uint8_t>("u8", {255, 128, 127, 5});
  control.expect_switch<std::int16_t>("i16", {-1, -32768, 255, 256});
  control.expect_switch<std::uint16_t>("u16", {65535, 32768, 255, 256});
  control.expect_switch<std::int32_t>("i32", {-1, std::numeric_limits<std::int32_t>::min(), 65536, 256});
  control.expect_switch<std::uint32_t>("u32", {~0u, 0x80000000, 65536, 256});
  control.expect_switch<std::int64_t>("i64", {-1, 4294967296, -4294967296, 4294967295});
  control.expect_switch<std::uint64_t>("u64",
                                       {~std::uint64_t{0}, 4294967296, std::uint64_t{1} << 63, 4294967295});
}

PROCTOR_CHECK(ControlFlow, FunctionsUseSeparatePrivateMemory, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=calls,arg=1,at=4"}) {
  Control control(leased());
  const auto in = noise_words(100, 3);
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t x : in) {
    std::uint32_t own[6] = {};
    for (std::uint32_t k = 0; k < 6; ++k) own[(k + x) % 6] = x + k;
    std::uint32_t result = between(x, 2 * (x % 4) + 1);
    for (const std::uint32_t number : own) result = result * 7 + number;
    expected.push_back(result + 1000 * 128 +
                       static_cast<std::uint32_t>(expected.size() % 32));  // 4 groups of 32
  }
  control.expect("calls", in, expected);
}

PROCTOR_CHECK(ControlFlow, LongLoopsFinishCorrectly, "K79", kControl, kGate,
              {"kernel.wrong_result:kernel=many_calls,arg=1,at=4"}) {
  Control control(leased());
  constexpr std::uint32_t kRounds = 5000;
  const auto in = noise_words(20, 4);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    std::uint32_t value = in[i];
    for (std::uint32_t k = 0; k < kRounds + i; ++k) value = stepped(stepped(value, k), value >> 7);
    expected.push_back(value);
  }
  control.expect("many_calls", in, expected, kRounds);
}

}  // namespace proctor::accel
