#!/usr/bin/env python3
"""Round trips of 64 bytes over one TCP connection, as fast as possible.

  round_trips.py serve ADDRESS            serves one client, then ends
  round_trips.py ask ADDRESS SECONDS      prints the median and the 99th percentile of the round trips in microseconds
"""
import socket
import sys
import time

PORT, LENGTH, WARM_UP = 7473, 64, 100


def receive(connection, buffer):
    got = 0
    while got < LENGTH:
        count = connection.recv_into(memoryview(buffer)[got:])
        if count == 0:
            return False
        got += count
    return True


def serve(address):
    with socket.create_server((address, PORT)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray(LENGTH)
        while receive(connection, buffer):
            connection.sendall(buffer)


def ask(address, seconds):
    times = []
    with socket.create_connection((address, PORT), timeout=5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        message, buffer = bytes(LENGTH), bytearray(LENGTH)
        end = time.perf_counter() + seconds
        now = 0.0
        while now < end:
            began = time.perf_counter()
            connection.sendall(message)
            if not receive(connection, buffer):
                sys.exit("round_trips.py: the server ended")
            now = time.perf_counter()
            times.append(now - began)
    times = sorted(times[min(WARM_UP, len(times) // 10):])
    print(f"{times[len(times) // 2] * 1e6:.1f} {times[len(times) * 99 // 100] * 1e6:.1f}")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        ask(sys.argv[2], float(sys.argv[3]))
