"""A picture of times: groups of bars."""

import html

COLOURS = {"CPU": ("#4a7fb5", "#a3c1de"), "NNAPI": ("#d9822b", "#efc08c")}  # with one thread, and with more
BAR, GAP, LEFT, WIDTH, TOP = 18, 22, 70, 760, 70
FONT = 'font-family="sans-serif" font-size="13"'


def label(device: str, threads: int) -> str:
    return f"{device}, {threads} thread{'s' * (threads > 1)}"


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {FONT}{more}>{html.escape(words)}</text>'


def svg(title: str, groups: dict, columns: list) -> str:
    """`groups` have a time for each column, 0 for none; columns are pairs of device and threads."""
    longest = max(max(times) for times in groups.values())
    scale = (WIDTH - LEFT - 60) / longest
    colour = {column: COLOURS[column[0]][column[1] > 1] for column in columns}
    parts = [text(LEFT, 24, title)]
    for i, column in enumerate(columns):
        x = LEFT + i * 150
        parts.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{colour[column]}"/>')
        parts.append(text(x + 18, 49, label(*column)))
    y = TOP
    for name, times in groups.items():
        parts.append(text(LEFT - 10, y + len(times) * BAR / 2 + 4, name, ' text-anchor="end"'))
        for column, time in zip(columns, times):
            width = time * scale
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{colour[column]}"/>')
            parts.append(text(LEFT + width + 6, y + BAR - 5, f"{time:.2f}" if time else "-"))
            y += BAR
        y += GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"
