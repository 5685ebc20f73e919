"""Time zones by name, for what a person reads on the screen and for a time of the day that a script
names. Moments in files and in output are always UTC."""

from __future__ import annotations

from datetime import UTC, datetime

UTC_ZONE = "UTC"
LOCAL_ZONE = "local"


def zone_is_known(name: str) -> bool:
    """Whether it is `UTC`, `local` or a zone such as Europe/Berlin that this machine knows."""
    if name in (UTC_ZONE, LOCAL_ZONE):
        return True
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True


def in_zone(moment: datetime, name: str) -> datetime:
    """A moment as clocks of a known zone show it; `local` is the zone of this machine."""
    if name == UTC_ZONE:
        return moment.astimezone(UTC)
    if name == LOCAL_ZONE:
        return moment.astimezone()
    from zoneinfo import ZoneInfo

    return moment.astimezone(ZoneInfo(name))
