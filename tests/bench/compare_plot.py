"""The plot of compare_report.py: for each metric a panel with one bar per tunnel, from the smallest to the greatest round
a line over it."""
import statistics
from xml.sax.saxutils import escape

PANELS = [
    ("tcp_to_lan_1", "TCP to the LAN, 1 stream, Gbit/s", 1e-3, 2),
    ("tcp_to_host_1", "TCP to the host, 1 stream, Gbit/s", 1e-3, 2),
    ("udp64_pps", "UDP frames of 64 bytes, thousands/s", 1e-3, 1),
    ("rtt_p50_us", "TCP round trip of 64 bytes, p50, us (less is better)", 1, 0),
]
WIDTH, NAME_WIDTH, VALUE_WIDTH, ROW, TITLE, GAP = 760, 130, 70, 20, 26, 14
OURS, OTHERS = "#2563eb", "#94a3b8"


def bar(y, name, values, scale, digits, per_unit):
    median = statistics.median(values) * scale
    length = median * per_unit
    least, greatest = (NAME_WIDTH + edge * scale * per_unit for edge in (min(values), max(values)))
    middle = y + ROW / 2
    return [f'<text x="{NAME_WIDTH - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{NAME_WIDTH}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}"'
            f' fill="{OURS if name.startswith("splitnic") else OTHERS}"/>',
            f'<path d="M{least:.1f} {middle}H{greatest:.1f}" stroke="#111"/>',
            f'<text x="{max(greatest, NAME_WIDTH + length) + 6:.1f}" y="{middle + 4:.1f}">{median:.{digits}f}</text>']


def panel(y, results, carriers, metric, title, scale, digits):
    shown = [(carrier, list(results[carrier][metric].values())) for carrier in carriers if results[carrier].get(metric)]
    if not shown:
        return y, []
    most = max(max(values) for _, values in shown) * scale
    per_unit = (WIDTH - NAME_WIDTH - VALUE_WIDTH) / most if most > 0 else 0
    lines = [f'<text x="{NAME_WIDTH}" y="{y + TITLE - 9}" font-weight="bold">{escape(title)}</text>']
    y += TITLE
    for carrier, values in shown:
        lines += bar(y, carrier, values, scale, digits, per_unit)
        y += ROW
    return y + GAP, lines


def plot(results, carriers):
    y, lines = 4, []
    for metric, title, scale, digits in PANELS:
        y, more = panel(y, results, carriers, metric, title, scale, digits)
        lines += more
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>', *lines, "</svg>", ""])
