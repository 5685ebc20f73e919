"""Why a GPU's clocks are held back, in words: the driver's bits, and columns of one reason each.

A pure table with its look-up. Owns which reasons spoil a measurement.
"""

from __future__ import annotations

THROTTLE_BITS: tuple[tuple[int, str, bool], ...] = (
    # bit, words, whether it slows the GPU down in a way that spoils a measurement
    (0x1, "idle", False),
    (0x2, "application clocks", False),
    (0x4, "SW power cap", True),
    (0x8, "HW slowdown", True),
    (0x10, "sync boost", True),
    (0x20, "SW thermal slowdown", True),
    (0x40, "HW thermal slowdown", True),
    (0x80, "HW power brake", True),
    (0x100, "display clocks", False),
)
SLOWS = frozenset(words for _, words, slows in THROTTLE_BITS if slows)
_REASONS = (  # columns of one reason each, as people ask for them by hand
    ("gpu_idle", "idle"),
    ("applications_clocks_setting", "application clocks"),
    ("sw_power_cap", "SW power cap"),
    ("hw_slowdown", "HW slowdown"),
    ("sync_boost", "sync boost"),
    ("sw_thermal_slowdown", "SW thermal slowdown"),
    ("hw_thermal_slowdown", "HW thermal slowdown"),
    ("hw_power_brake_slowdown", "HW power brake"),
)
ALONE: dict[str, str] = {
    f"clocks_{kind}_reasons.{name}": words
    for kind in ("event", "throttle")
    for name, words in _REASONS
}


def throttle_reasons(mask: str) -> tuple[str, ...]:
    """Words of a mask such as "0x0000000000000048"; unknown bits are named by their number."""
    try:
        bits = int(mask, 16)
    except ValueError:
        return ()
    words = [text for bit, text, _ in THROTTLE_BITS if bits & bit]
    rest = bits & ~sum(bit for bit, _, _ in THROTTLE_BITS)
    return (*words, f"unknown (0x{rest:x})") if rest else tuple(words)
