"""The code under test: returns the difference between the result of an attention kernel and the reference."""

TILE = 64
LOCAL_MEMORY = 1024


def error(dtype, heads):
    spills = heads * TILE > LOCAL_MEMORY
    return {"fp32": 1e-6, "fp16": 1e-3, "bf16": 8.13e-3}[dtype] * (10 if spills else 1)
