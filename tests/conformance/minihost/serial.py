"""Serial comparison of numbers that wrap (P-GEN-5, RFC 1982): LCN has 16 bits, PSN and MSN have 24."""


def before(a, b, bits):
    """a is before b: (b - a) mod 2^bits is from 1 to 2^(bits-1) - 1."""
    return 0 < (b - a) % (1 << bits) < 1 << (bits - 1)


def distance(a, b, bits):
    """From a to b, forwards."""
    return (b - a) % (1 << bits)
