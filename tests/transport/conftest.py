"""Every promise about SSH is held by both ways of speaking it."""

from __future__ import annotations

import pytest

from console.model.fleet import Wire


@pytest.fixture(params=[Wire.ASYNCSSH, Wire.OPENSSH])
def way(request: pytest.FixtureRequest) -> Wire:
    """The way a test goes; each test that asks for it runs once for each."""
    found: Wire = request.param
    return found
