"""Timers: things to do later, by one clock that everything in the host shares.

The clock is a function that returns seconds, so the tests of this folder pass their own and need no real time.
"""
import heapq
import itertools
import time


class Timer:
    """One thing to do at one time; `cancel` takes it back."""
    __slots__ = ("action",)

    def __init__(self, action):
        self.action = action

    def cancel(self):
        self.action = None

    @property
    def pending(self):
        return self.action is not None


class Timers:
    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self._heap = []
        self._order = itertools.count()

    def now(self):
        return self.clock()

    def after(self, seconds, action):
        timer = Timer(action)
        heapq.heappush(self._heap, (self.clock() + seconds, next(self._order), timer))
        return timer

    def run_due(self):
        """Does what is due now. What is scheduled by that for a time that has passed is done too."""
        while self._heap and self._heap[0][0] <= self.clock():
            timer = heapq.heappop(self._heap)[2]
            action, timer.action = timer.action, None
            if action:
                action()

    def next_at(self):
        """The time of the next timer, or None."""
        while self._heap and not self._heap[0][2].pending:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
