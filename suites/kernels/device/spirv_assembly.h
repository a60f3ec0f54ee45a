;
What the modules in SPIR -
    V's own language (*.spvasm) begin with: types, numbers, and kernels whose arguments are %NAME_out and ;
% NAME_in, both pointers to 64 - bit numbers in global memory.The preprocessor of C expands them;
each item has its own values.
#define ADDRESS_OF(k, i) % k##_to_##i = OpInBoundsPtrAccessChain % global % k##_out % u64_##i
    ;
out[i] = value, which has 64 bits or, if NARROW, fewer.
#define RESULT(k, i, value) ADDRESS_OF(k, i) OpStore % k##_to_##i value Aligned 8
#define NARROW(k, i, value) % k##_wide_##i = OpUConvert % u64 value RESULT(k, i, % k##_wide_##i)
    ;
name = in[i]
#define GIVEN(k, i, name)                                                      \
  % k##_from_##i = OpInBoundsPtrAccessChain % global % k##_in % u64_##i name = \
                       OpLoad % u64 % k##_from_##i Aligned 8
#define BEGIN(k)                                       \
  % k = OpFunction % void None % of_kernel % k##_out = \
            OpFunctionParameter % global % k##_in = OpFunctionParameter % global % k##_start = OpLabel
#define END OpReturn OpFunctionEnd
#define NUMBER(value) % u64_##value = OpConstant % u64 value
#define TYPES                                                                                                \
  % void = OpTypeVoid % bool =                                                                               \
               OpTypeBool % u8 =                                                                             \
                   OpTypeInt 8 0 % u16 =                                                                     \
                       OpTypeInt 16 0 % u32 =                                                                \
                           OpTypeInt 32 0 % u64 =                                                            \
                               OpTypeInt 64 0 % f32 =                                                        \
                                   OpTypeFloat 32 NUMBER(0) NUMBER(1) NUMBER(2) NUMBER(3) NUMBER(4)          \
                                       NUMBER(5) NUMBER(6) NUMBER(7) NUMBER(8) NUMBER(9) NUMBER(10)          \
                                           NUMBER(11) NUMBER(12) NUMBER(13) NUMBER(14) NUMBER(15) NUMBER(16) \
                                               NUMBER(17) NUMBER(18) NUMBER(19) NUMBER(20) %                 \
                                   global = OpTypePointer CrossWorkgroup % u64 % of_kernel =                 \
                                                OpTypeFunction % void % global % global
#define CAPABILITIES                                                                                    \
  OpCapability Addresses OpCapability Linkage OpCapability Kernel OpCapability Int64 OpCapability Int16 \
      OpCapability Int8
