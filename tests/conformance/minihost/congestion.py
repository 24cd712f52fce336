"""How long a requester waits (P-RC-8) and how much it has in flight (P-RC-22)."""
from serial import before

FIRST, LEAST, MOST, MOST_DOUBLED = 0.020, 0.002, 0.5, 0.2        # seconds


class RoundTrip:
    """RFC 6298."""

    def __init__(self):
        self.smoothed = None
        self.variation = 0.0

    def measure(self, seconds):
        if self.smoothed is None:
            self.smoothed, self.variation = seconds, seconds / 2
        else:
            self.variation += (abs(self.smoothed - seconds) - self.variation) / 4
            self.smoothed += (seconds - self.smoothed) / 8

    def time_out(self, doublings):
        if self.smoothed is None:
            base = FIRST
        else:
            base = min(max(self.smoothed + 4 * self.variation, LEAST), MOST)
        return min(base * 2 ** min(doublings, 10), max(base, MOST_DOUBLED))


class Congestion:
    """Slow start and additive increase, half at a loss, one cell after a time-out; never more than half of the peer's
    receive buffer."""

    def __init__(self, cell, most):
        self.cell, self.most = cell, most
        self.threshold = float("inf")
        self._window = 16 * cell
        self._recover = None                                     # the LCN that ends the reaction to one loss

    @property
    def window(self):
        return min(self._window, self.most)

    def grow(self, raw):
        if self._window < self.threshold:
            self._window += raw
        else:
            self._window += self.cell * raw / self._window
        self._window = min(self._window, 2 * self.most + 16 * self.cell)

    def acknowledged(self, lcn):
        if self._recover is not None and not before(lcn, self._recover, 16):
            self._recover = None

    def lost(self, newest):
        if self._recover is None:
            self._recover = newest
            self.threshold = max(self.window / 2, 2 * self.cell)
            self._window = self.threshold

    def time_out(self):
        self.threshold = max(self.window / 2, 2 * self.cell)
        self._window = self.cell
        self._recover = None
