"""`wattpack calibrate prometheus`."""


def calibrate_prometheus_command(url: str) -> None:
    """Later."""
