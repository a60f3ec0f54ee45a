import time

import pytest

import kernels


@pytest.mark.parametrize("heads", [1, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_matches_reference(dtype, heads):
    error = kernels.error(dtype, heads)
    for step in range(10):
        print(f"step {step}: max error {error * (step + 1) / 10:.4f}")
    assert error < 0.02, f"max error {error:.4f} is above 0.02"


@pytest.mark.parametrize("length", [128, 2048, 32768])
def test_long_context(length):
    if length == 32768:
        print("allocating the cache", flush=True)
        time.sleep(60)


def test_flash_kernel():
    pytest.skip("needs fp8")


def test_paged_cache():
    page = 17
    assert page == 18, "page 17 was evicted while in use"


@pytest.mark.xfail(reason="rounding of the last block, see #812")
def test_odd_block():
    assert 0.1 + 0.2 == 0.3
