// Checks of SPIR-V instructions that no compiler generates from OpenCL C. The modules are written in SPIR-V
// assembly (device/*.spvasm).
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/built_apart.h"
#include "suites/kernels/instructions_xpu.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr std::uint64_t kLarge = kLargeNumber;

constexpr const char* kComposites = "SPIR-V specification, composite instructions";
constexpr const char* kBranches = "SPIR-V specification, control-flow instructions";
constexpr const char* kPointers = "SPIR-V specification, memory instructions";
constexpr const char* kConstants = "SPIR-V specification, constant-creation instructions";
constexpr const char* kConstantOperations =
    "SPIR-V specification, OpSpecConstantOp, whose instructions the capability Kernel includes";
constexpr const char* kLocalSizeId =
    "SPIR-V specification, execution mode LocalSizeId, of the capability Kernel from 1.2 on";
constexpr const char* kBlocks = "SPIR-V extension, SPV_INTEL_subgroups";

// ---- branches.spvasm ----

// The result of a switch over `bits` bits with four cases. The case values are the limits of the signed and
// unsigned range.
Numbers switched(std::uint64_t x, std::uint64_t y, int bits) {
  const std::uint64_t selector = low_bits(x, bits), high = std::uint64_t{1} << (bits - 1);
  const std::uint64_t first = bits == 8 ? 0 : std::uint64_t{1} << (bits == 64 ? 32 : bits / 2);
  if (selector == first || selector == low_bits(~std::uint64_t{0}, bits)) return {13, 1};
  if (selector == high) return {22, 1};
  if (selector == high - 1) return {y + 3, 2};
  if (selector == 5) return {50, y};
  return {x, 3};
}

Numbers in_other_places(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  std::uint64_t a = x, b = y, c = z, p = low_bits(x, 8), q = low_bits(y, 8), v = low_bits(y, 32),
                w = low_bits(x, 32);
  for (std::uint64_t i = 0; i < (z & 7); ++i) {
    a = std::exchange(b, std::exchange(c, a));
    std::swap(p, q);
    std::swap(v, w);
  }
  return {a, b, p << 8 | q, v};
}

Numbers branched(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const std::uint64_t sum = x < y ? x : y, more = x < y ? y : z;
  const bool is = sum > z;
  return {sum, more, is ? 30u : 40u,
          z + low_bits(x, 8) * 3 + low_bits(y, 16) * 5 + sum * 11 + more * 13 + (is ? 7 : 0)};
}

template <typename Run>
void expect_items(const Context& context, const Module& module, const std::string& kernel, const Numbers& in,
                  Run run) {
  Numbers expected;
  for (std::size_t i = 0; i < in.size(); i += 4) {
    Numbers results = run(in[i], in[i + 1], in[i + 2]);
    results.resize(4, 7);
    expected.insert(expected.end(), results.begin(), results.end());
  }
  expect_results(context, module, kernel, in, expected,
                 groups_of(static_cast<std::uint32_t>(in.size() / 4), 1));
}

// ---- module.spvasm ----

struct Specialised {
  std::uint64_t yes = 1, no = 0, byte = 200, half = 60000, word = 5, wide = kLarge, bits = 0x3fc00000,
                count = 3;

  // The expected results. `operations`: adds the results of constants that are computed from other constants.
  Numbers results(bool operations) const {
    if (!operations) return {yes, no, byte, half, word, wide, bits, count};
    const std::uint64_t product = low_bits(word * 3, 32), sum = wide + count;
    return {yes,
            no,
            byte,
            half,
            word,
            wide,
            bits,
            count,
            sum,
            product,
            byte,
            low_bits_signed(byte, 8),
            low_bits(0 - half, 16),
            yes & no,
            yes | no,
            word < 3,
            yes != 0 ? wide : 7,
            product,
            3,
            sum,
            7};
  }
  std::vector<Constant> constants() const {
    return {{1, yes, 1},  {2, no, 1},   {3, byte, 1}, {4, half, 2},
            {5, word, 4}, {6, wide, 8}, {7, bits, 4}, {8, count, 8}};
  }
};

void expect_specialised(const Context& context, const std::string& module, bool operations) {
  const auto expect = [&](const Specialised& wanted, const std::vector<Constant>& constants) {
    expect_results(context, Module::load(context, module, {.constants = constants}), "specialised", {0},
                   wanted.results(operations));
  };
  step("given no values");
  expect({}, {});
  step("given a value for each constant");
  const Specialised all = {
      .yes = 0, .no = 1, .byte = 100, .half = 1, .word = 2, .wide = ~kLarge, .bits = 0x40490fdb, .count = 5};
  expect(all, all.constants());
  step("given a value for one of them");
  expect({.half = 0x8001}, {{4, 0x8001, 2}});
}

ze_kernel_properties_t native_properties_of(const Kernel& kernel) {
  ze_kernel_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  ZE_CALL(zeKernelGetProperties, native(kernel), &properties).or_throw();
  return properties;
}

void expect_required(const Module& module, const std::string& kernel, const std::vector<std::uint32_t>& size,
                     const Device& device) {
  const auto properties = native_properties_of(Kernel(module, kernel));
  expect_words("the size that " + kernel + " requires", size,
               std::vector{properties.requiredGroupSizeX, properties.requiredGroupSizeY,
                           properties.requiredGroupSizeZ},
               device);
}

// ---- blocks.spvasm ----

template <typename T>
void expect_blocks(const Context& context, const Module& module, const std::string& type) {
  constexpr std::size_t kLanes = 16, kGroups = 3, kFar = 1024;
  Queue queue(context);
  std::vector<T> in(kFar);
  const auto bytes = noise(in.size() * sizeof(T), 5);
  std::memcpy(in.data(), bytes.data(), bytes.size());
  const auto given = device_copy(queue, context, in);
  for (const std::size_t n : {1, 2, 4, 8}) {
    std::vector<T> expected(2 * kFar, T{7});
    const auto out = device_copy(queue, context, expected);
    for (std::size_t i = 0; i < kGroups * kLanes * n; ++i) {
      const std::size_t item = i / n, group = item / kLanes, lane = item % kLanes, component = i % n;
      const std::size_t in_block = group * kLanes * n + component * kLanes + lane;
      expected[i] = in[in_block];
      expected[kFar + in_block] = in[i];
    }
    const std::string kernel = type + "_" + std::to_string(n);
    step("given blocks of " + kernel);
    queue.launch(Kernel(module, kernel), groups_of(kGroups, kLanes), arguments(out, given));
    queue.synchronize();
    expect_values(kernel, expected, read_as<T>(queue, context, out), context.device());
  }
}

}  // namespace

PROCTOR_CHECK(SpirvInstruction, CompositesHoldSpecifiedElements, "K73", kComposites, kGate,
              {"kernel.wrong_result:kernel=composites,at=1", "kernel.wrong_result:kernel=moves,at=2"}) {
  const auto context = leased();
  const Module module = Module::load(context, "composites");
  const std::uint64_t x = kLarge, y = 0x0fedcba987654321, z = 0x8899aabbccddeeff;
  expect_results(context, module, "composites", {x, y},
                 {x, 16, low_bits(x, 16), low_bits(y, 16), low_bits(y, 16), low_bits(y, 16), low_bits(x, 16),
                  low_bits(y, 32), low_bits(x, 8), low_bits(x, 16), low_bits(y, 16)});
  for (const auto& [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    const std::uint64_t b16 = low_bits(b, 16), z16 = low_bits(z, 16);
    const auto dot =
        static_cast<float>(b16) * 0.5f + static_cast<float>(z16) * 3 + 0.5f * static_cast<float>(z16);
    expect_results(
        context, module, "moves", {a, b, z},
        {b, z, b, b, low_bits(a, 32) << 16 & 0xffffffff, b16 >> 5, low_bits(low_bits_signed(b, 16) >> 3, 16),
         low_bits(low_bits_signed(z, 16) >> 10, 16) | (z >> 15 & 1 ? 0xffc0 : 0), a < b ? a : z,
         a < b ? a : b, b, static_cast<std::uint64_t>(dot), z16 * 3, 4, a << 16});
  }
}

PROCTOR_CHECK(SpirvInstruction, ExtendedSignedProductIsExact, "K73", "SPIR-V specification, OpSMulExtended",
              kGate, {"kernel.wrong_result:kernel=wide,at=9"}) {
  const auto context = leased();
  const Module module = Module::load(context, "wide_arithmetic");
  __extension__ using Wide = unsigned __int128;
  __extension__ using SignedWide = __int128;
  for (const auto& [x, y] : pairs_of_numbers()) {
    const SignedWide product = SignedWide{static_cast<std::int64_t>(x)} * static_cast<std::int64_t>(y);
    const std::uint64_t product16 = low_bits_signed(x, 16) * low_bits_signed(y, 16);
    expect_results(context, module, "wide", {x, y},
                   {x * y, static_cast<std::uint64_t>(static_cast<Wide>(product) >> 64),
                    low_bits(product16, 16), low_bits(product16 >> 16, 16)});
  }
}

PROCTOR_CHECK(SpirvInstruction, SwitchSelectsMatchingCase, "K74", kBranches, kGate,
              {"kernel.wrong_result:kernel=switch8,at=1", "kernel.wrong_result:kernel=switch64,at=0"}) {
  const auto context = leased();
  const Module module = Module::load(context, "branches");
  for (const int bits : {8, 16, 32, 64}) {
    Numbers in;
    const std::uint64_t high = std::uint64_t{1} << (bits - 1);
    for (const std::uint64_t x :
         {std::uint64_t{0}, std::uint64_t{256}, std::uint64_t{65536}, std::uint64_t{1} << 32, high, high - 1,
          high + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{5}, std::uint64_t{6}, kLarge,
          high << 1 | 5}) {
      in.insert(in.end(), {x, x ^ 1000, 0, 0});
    }
    expect_items(context, module, "switch" + std::to_string(bits), in,
                 [&](std::uint64_t x, std::uint64_t y, std::uint64_t) { return switched(x, y, bits); });
  }
}

PROCTOR_CHECK(SpirvInstruction, PhiValuesUpdateInParallel, "K74", kBranches, kGate,
              {"kernel.wrong_result:kernel=places,at=1", "kernel.wrong_result:kernel=branches,at=0"}) {
  const auto context = leased();
  const Module module = Module::load(context, "branches");
  Numbers in;
  for (std::uint64_t i = 0; i < 12; ++i)
    in.insert(in.end(), {kLarge * (i + 1), kLarge * (i * i + 3), (kLarge << 8) * i + i, 0});
  expect_items(context, module, "places", in, in_other_places);
  expect_items(context, module, "branches", in, branched);
}

PROCTOR_CHECK(SpirvInstruction, AccessChainsAndCopiesReachElements, "K75", kPointers, kGate,
              {"kernel.wrong_result:kernel=chains,at=1", "kernel.wrong_result:kernel=copies,at=33"}) {
  const auto context = leased();
  const Module module = Module::load(context, "pointers");
  expect_results(context, module, "chains", {1},
                 {kLarge, 3, 65534, 7, 8, 7, 6, 7, 9, 8, 7, 8, 10, 2, 500, 500});
  Numbers rows = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
  for (auto& number : rows) number *= 0x0101010101010101;
  rows.resize(17);
  for (const std::uint64_t n : {1, 5, 16, 31, 32}) {
    rows[16] = n;
    const auto bytes = [&](const Numbers& into, const Numbers& from, std::uint64_t count) {
      Numbers result = into;
      std::memcpy(result.data(), from.data(), count);
      return result;
    };
    const Numbers first = part_of(rows, 0, 4), second = part_of(rows, 4, 4), third = part_of(rows, 8, 4);
    Numbers expected = first;
    for (const auto& row : {second, bytes(first, third, n), bytes(second, third, n), bytes(third, first, n),
                            bytes(Numbers(4, 7), first, 21)})
      expected.insert(expected.end(), row.begin(), row.end());
    expect_results(context, module, "copies", rows, expected);
  }
}

PROCTOR_CHECK(SpirvInstruction, PointerCastsRespectStorageClass, "K75", kPointers, kGate,
              {"kernel.wrong_result:kernel=casts,at=1", "kernel.wrong_result:kernel=aligned,at=49"}) {
  const auto context = leased();
  const Module module = Module::load(context, "pointers");
  expect_results(context, module, "casts", {kLarge, 99},
                 {1, 0, 0, 0, 1, 0, 0, 0, 1, kLarge, 99, 99, 1, 99, 0});
  step("given variables with declared alignments");
  expect_results(context, module, "aligned", {0},
                 {0, 0, 0, 0, 0, 0, 1, 2, 3, 1, 77, 1, 2, 1, 2, 77, 3, 500, kLarge});
}

PROCTOR_CHECK(SpirvInstruction, ConstantPointersReachModuleVariables, "K75", kPointers, kGate,
              {"kernel.wrong_result:kernel=lists,at=1"}) {
  const auto context = leased();
  const Module module = Module::load(context, "lists");
  expect_results(context, module, "lists", {0},
                 {kLarge * 121 + 7 * 11 + 5, 77, kLarge, 0, 3, 2, 2, 3, 0, 5, 3});
}

PROCTOR_CHECK(SpirvInstruction, PointerComparisonAndDifferenceAreExact, "K75",
              "SPIR-V specification, 1.4: OpPtrEqual, OpPtrNotEqual, OpPtrDiff, OpCopyLogical", kGate,
              {"kernel.wrong_result:kernel=newer,at=1"}) {
  const auto context = leased();
  const Module module = Module::load(context, "newer");
  expect_results(context, module, "newer", {0, kLarge, 0, 0, 1},
                 {1, 0, 0, 1, 3, 0 - std::uint64_t{3}, 4, kLarge, kLarge});
}

PROCTOR_CHECK(SpecConstant, ValuesOfEveryTypeApply, "K10", kConstants, kGate,
              {"kernel.spec_constant_ignored", "kernel.wrong_result:kernel=specialised,at=1"}) {
  expect_specialised(leased(), "specialised", false);
}

PROCTOR_CHECK(SpecConstant, DerivedConstantsUseGivenValues, "K10", kConstantOperations, kGate,
              {"kernel.spec_constant_ignored", "kernel.wrong_result:kernel=specialised,at=65"}) {
  const auto context = leased();
  need_built_apart(context, "construct_constant_operations", "OpSpecConstantOp", kConstantOperations);
  expect_specialised(context, "construct_constant_operations", true);
}

PROCTOR_CHECK(Module, DecorationsAndNamesTakeEffect, "K76",
              "SPIR-V specification, annotation and debug instructions", kGate,
              {"kernel.wrong_result:at=1"}) {
  const auto context = leased();
  const Module module = Module::load(context, "module");
  expect_results(context, module, "a name.with-characters/of:every+kind (\"\\) ä", {kLarge},
                 {14, 13, 24, 24, 0, 0, 7, 200, 90 + 14, kLarge, 16, 77});
  void* pointer = nullptr;
  std::size_t bytes = 0;
  step("given the name that a variable is exported by");
  module.try_global("a.variable", &pointer, &bytes).or_throw();
  expect_same("its size", "8", std::to_string(bytes));
  step("given a required size of groups");
  expect_required(module, "fixed", {8, 4, 2}, context.device());
}

PROCTOR_CHECK(Module, LocalSizeIdSetsRequiredSize, "K76", kLocalSizeId, kGate,
              {"kernel.spec_constant_ignored"}) {
  const auto context = leased();
  const std::string name = "construct_local_size_id";
  const Module module = load_built_apart(context, name, "LocalSizeId", kLocalSizeId);
  expect_required(module, "construct", {2, 3, 5}, context.device());
  step("given another value for one of the constants");
  const Module other = Module::load(context, name, {.constants = {{5, 9, 4}}});
  expect_required(other, "construct", {2, 3, 9}, context.device());
}

PROCTOR_CHECK(SubGroup, BlockReadsAndWritesAreExact, "K37", kBlocks, kGate,
              {"kernel.wrong_result:kernel=u16_4,at=6", "kernel.wrong_result:kernel=u64_8,at=9"}) {
  const auto context = leased();
  const auto& sizes = context.device().properties().sub_group_sizes;
  need(std::find(sizes.begin(), sizes.end(), 16u) != sizes.end(), "unsupported:sub_group_size_16");
  const Module module = Module::load(context, "blocks");
  expect_blocks<std::uint8_t>(context, module, "u8");
  expect_blocks<std::uint16_t>(context, module, "u16");
  expect_blocks<std::uint32_t>(context, module, "u32");
  expect_blocks<std::uint64_t>(context, module, "u64");
}

// Constructs of SPIR-V that the compiler of some driver lacks: a case for each module of constructs.spvasm. Each
// case first builds its module in a second process. If that fails, the case is skip(unsupported:CONSTRUCT) with a
// warning. The cases require right results. They do not require the support that each row's source requires.
// harness/e2e/refused_modules.toml lists the compilers.

namespace {

using suite::kGate;
using suite::kWarn;
using suite::Severity;

constexpr const char* kPartsOfComposites =
    "SPIR-V specification, OpCompositeConstruct, OpCompositeExtract, OpCompositeInsert";
constexpr const char* kTwoParts = "SPIR-V specification, OpUMulExtended, OpIAddCarry, OpISubBorrow";
constexpr const char* kDebug = "SPIR-V specification, debug instructions, which have no semantic impact";

struct Construct {
  const char* name;       // of the case
  const char* construct;  // the skip contains it
  const char* module;     // construct_MODULE
  const char* rule;
  const char* source;
  // kGate if every available compiler that builds the module is known to compile it correctly.
  Severity severity;
  Numbers (*expected)(std::uint64_t x, std::uint64_t y);
  const char* kernel = "construct";
};

__extension__ using Wide = unsigned __int128;

std::uint64_t high_half(std::uint64_t x, std::uint64_t y) {
  return static_cast<std::uint64_t>(Wide{x} * y >> 64);
}

Numbers first_of(std::uint64_t x, std::uint64_t) { return {x}; }

// clang-format off
const Construct kConstructs[] = {
    {"VectorIsConstructedFromVectors", "VectorOfVectors", "vector_of_vectors", "K73", kPartsOfComposites, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       const std::uint64_t a = low_bits(x, 16), b = low_bits(y, 16);
       return {a, b, a, b, a, b, b, b, a};
     }},
    {"ExtractReadsNestedVector", "ExtractFromAVectorInside", "extract_from_a_vector_inside", "K73", kPartsOfComposites, kWarn,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {low_bits(y, 16), low_bits(x, 16)}; }},
    {"InsertChangesNestedVector", "InsertIntoAVectorInside", "insert_into_a_vector_inside", "K73", kPartsOfComposites, kWarn,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {low_bits(y, 16), 2, low_bits(x, 16)}; }},
    {"SelectReturnsWholeComposite", "SelectOfStructures", "select_a_structure", "K73", "SPIR-V specification, 1.4: OpSelect", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return x < y ? Numbers{x, 3, x} : Numbers{y, 5, y};
     }},
    {"UMulExtendedIsExact", "UMulExtended", "product", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       const std::uint64_t bytes = low_bits(x, 8) * low_bits(y, 8);
       return {x * y, high_half(x, y), low_bits(bytes, 8), bytes >> 8};
     }},
    {"VectorUMulExtendedIsExact", "UMulExtendedOfVectors", "product_of_vectors", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {low_bits(low_bits(y, 32) * 10, 32), low_bits(x, 32) * low_bits(y, 32) >> 32};
     }},
    {"IAddCarryIsExact", "IAddCarry", "carry", "K73", kTwoParts, kGate, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {x + y, x + y < x, (low_bits(x, 32) + low_bits(y, 32)) >> 32};
     }},
    {"ISubBorrowIsExact", "ISubBorrow", "borrow", "K73", kTwoParts, kGate, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {low_bits(x - y, 16), low_bits(x, 16) < low_bits(y, 16)};
     }},
    {"VectorISubBorrowIsExact", "ISubBorrowOfVectors", "borrow_of_vectors", "K73", kTwoParts, kWarn, [](std::uint64_t x, std::uint64_t y) -> Numbers {
       return {y - 7, 5 < x, x < y};
     }},
    {"LogicalNotInvertsCondition", "LogicalNot", "logical_not", "K25", "SPIR-V specification, OpLogicalNot", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {!(x < y)}; }},
    {"LogicalNotEqualComparesVectors", "LogicalNotEqualOfVectors", "logical_not_equal_of_vectors", "K25", "SPIR-V specification, OpLogicalNotEqual", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {x <= y, y <= x, 1}; }},
    {"CopyMemoryCopiesWholeArray", "CopyMemory", "copy_memory", "K75", "SPIR-V specification, OpCopyMemory", kGate,
     [](std::uint64_t x, std::uint64_t y) -> Numbers { return {x, y, 0, 0, x, y, 0, 0}; }},
    {"GenericCastChecksStorageClass", "GenericCastToPtrExplicitOfLongs", "generic_cast", "K75", "SPIR-V specification, OpGenericCastToPtrExplicit", kWarn,
     [](std::uint64_t, std::uint64_t) -> Numbers { return {1, 1}; }},
    {"FirstEntryPointNameRuns", "FirstNameOfAFunction", "one_function_two_names", "K76",
     "SPIR-V specification, OpEntryPoint: two may name one function with other names", kWarn, &first_of, "abc"},
    {"SecondEntryPointNameRuns", "LastNameOfAFunction", "one_function_two_names", "K76",
     "SPIR-V specification, OpEntryPoint: two may name one function with other names", kGate, &first_of, "abcdefg"},
    {"DebugNameDoesNotRenameKernel", "NameForDebuggersOfAKernel", "other_debug_name", "K76", kDebug, kWarn, &first_of},
    {"SourceTextIsIgnored", "SourceText", "source_text", "K76", kDebug, kWarn, &first_of},
    {"SourceContinuedIsIgnored", "SourceContinued", "source_continued", "K76", kDebug, kWarn, &first_of},
    {"NonSemanticInstructionsAreIgnored", "NonSemanticInstructions", "non_semantic", "K76",
     "SPIR-V extension, SPV_KHR_non_semantic_info, which no driver has to have", kWarn, &first_of},
};
// clang-format on

class ConstructCheck final : public suite::Check {
 public:
  explicit ConstructCheck(const Construct& row) : row_(row) {}

 private:
  void body() override {
    const auto context = leased();
    const std::string name = std::string("construct_") + row_.module;
    const Module module = load_built_apart(context, name, row_.construct, row_.source);
    for (const auto& [x, y] : pairs_of_numbers())
      expect_results(context, module, row_.kernel, {x, y, 0, 0}, row_.expected(x, y));
  }

  const Construct& row_;
};

[[maybe_unused]] const bool kAdded = [] {
  for (const Construct& row : kConstructs) {
    suite::add_check({"SpirvConstruct", row.name, row.rule, row.source, row.severity, __FILE__, __LINE__,
                      suite::CheckTraits{.faults = {"kernel.wrong_result:at=0"}}},
                     [&row] { return new ConstructCheck(row); });
  }
  return true;
}();

}  // namespace

// SPIR-V requires this instruction without a capability. No version of Intel's compiler supports it.
PROCTOR_CHECK(SpirvInstruction, QuantizeToHalfRoundsToNearest, "K26", "SPIR-V specification, OpQuantizeToF16",
              kWarn, {"kernel.wrong_result:kernel=construct,at=0"}) {
  const auto context = leased();
  Numbers in, expected;
  for (const float value : {1.0f, -1.0f, 0.1f, 3.14159f, 65504.0f, 2049.0f, 2051.0f, -1234.567f, 0.00025f}) {
    in.push_back(std::bit_cast<std::uint32_t>(value));
    const auto bits = std::bit_cast<std::uint32_t>(kernels::float_from_half(kernels::half_from_float(value)));
    expected.push_back(std::uint64_t{bits} << 32 | bits);
  }
  const Module module = load_built_apart(context, "construct_quantize", "OpQuantizeToF16",
                                         "SPIR-V specification, OpQuantizeToF16");
  expect_results(context, module, "construct", in, expected,
                 groups_of(static_cast<std::uint32_t>(in.size()), 1));
}

}  // namespace proctor::accel
