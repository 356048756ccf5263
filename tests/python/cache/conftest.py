"""What tests of shared stores share."""

import pytest
from stores import make_keys


@pytest.fixture
def keys(tmp_path):
    """Makes a pair of keys; gives the path of the signing key."""
    return lambda name: make_keys(tmp_path / name)
