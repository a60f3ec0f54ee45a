import os
import sys
import time

import pytest


@pytest.mark.parametrize("heads", [1, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_matches_reference(dtype, heads):
    print(f"attention over {heads} heads in {dtype}")
    if dtype == "bf16" and heads >= 8:
        for step in range(40):
            print(f"step {step:3}: max error {0.002 * (step + 1):.4f}")
        print("numerics drifted", file=sys.stderr)
        assert 0.0813 < 0.02, "max error 0.0813 is above 0.02"


@pytest.mark.parametrize("length", [128, 2048, 32768])
def test_long_context(length):
    if length == 32768:
        print("allocating the cache", flush=True)
        time.sleep(60)


def test_flash_kernel():
    pytest.skip("needs fp8")


def test_paged_cache():
    assert os.path.basename("pages/17") == "18", "page 17 was evicted while in use"


@pytest.mark.xfail(reason="rounding of the last block, see #812")
def test_odd_block():
    assert 0.1 + 0.2 == 0.3


def test_output_is_text():
    print("<script>document.title = 'owned'</script> <b>bold</b> ]]> <!-- ::error::no")
    print("reversed: \u202egnp.exe and back")
    assert "<img src=x onerror=alert(1)>" == "", "</script><script>document.title = 'owned'</script>"
