"""Real browsers without a window, driven from Python: see browser.py."""

from browsers.browser import PATIENCE_S, BrowserError, Missing, cost_of
from browsers.chromium import Chromium
from browsers.firefox import Firefox

KINDS = {"chromium": Chromium, "firefox": Firefox}


def start(kind, folder, dark=False):
    """Raises Missing if the browser is not installed."""
    return KINDS[kind](folder, dark)
