import pytest


@pytest.mark.parametrize("size", range(16, 2576, 16))
def test_identity(size):
    assert [row * 1 for row in range(size)] == list(range(size))
