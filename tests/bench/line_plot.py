"""Panels of lines against a number that doubles from tick to tick (hosts, bytes); the median of the rounds with a bar
from the smallest to the greatest. For hosts_report.py and sizes.py."""
import math
import statistics
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 260, 60, 110, 30, 40
COLOURS = ("#2563eb", "#d97706", "#64748b")


def nice_top(most):
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below."""
    power = 10 ** math.floor(math.log10(most)) if most > 0 else 1
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= most)


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(what)}</text>'


def line(points, colour, name):
    """Points as (x, y, y of the smallest, y of the greatest)."""
    drawn = [f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)}" fill="none" stroke="{colour}"'
             ' stroke-width="2"/>']
    for x, y, low, high in points:
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        drawn.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
    x, y = points[-1][:2]
    return drawn + [text(x + 8, y + 4, name, "start", f' fill="{colour}"')]


def panel(results, y, title, lines, scale):
    numbers = sorted(number for number in results if any(results[number].get(metric) for metric, _ in lines))
    shown = [(metric, name) for metric, name in lines if all(results[number].get(metric) for number in numbers)]
    if not shown:
        return []
    most = nice_top(max(value for metric, _ in shown for number in numbers for value in results[number][metric].values()) * scale)
    floor, height = y + HEIGHT - BOTTOM, HEIGHT - TOP - BOTTOM
    first = math.log2(numbers[0]) if numbers else 0
    last = max(math.log2(numbers[-1]) - first, 1) if numbers else 1

    def across(number):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(number) - first) / last

    def up(value):
        return floor - height * value * scale / most

    drawn = [text(LEFT, y + 18, title, "start", ' font-weight="bold"')]
    for part in range(5):
        at = floor - height * part / 4
        drawn += [f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>',
                  text(LEFT - 8, at + 4, f"{most * part / 4:g}", "end")]
    drawn += [text(across(number), floor + 16, str(number)) for number in numbers]
    for colour, (metric, name) in zip(COLOURS, shown):
        values = [(number, list(results[number][metric].values())) for number in numbers]
        drawn += line([(across(number), up(statistics.median(of)), up(min(of)), up(max(of))) for number, of in values],
                      colour, name)
    return drawn


def plot(results, panels, below):
    """number -> metric -> round -> value; panels: title, lines as (metric, name), scale; what the number is."""
    total, drawn = HEIGHT * len(panels), []
    for i, (title, lines, scale) in enumerate(panels):
        drawn += panel(results, i * HEIGHT, title, lines, scale)
    drawn.append(text((LEFT + WIDTH - RIGHT) / 2, total - 6, below))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total}" viewBox="0 0 {WIDTH} {total}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{total}" fill="#fff"/>', *drawn, "</svg>", ""])
