// Parts of the page: numbers, charts and tables. Text becomes textContent only, as names come from other machines.
import {kSamples} from "./model.js";

const kSvg = "http://www.w3.org/2000/svg";

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "role") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function setText(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

// Three digits with a prefix: "12.3 M"; "–" for what is not known.
function scaled(value, prefixes) {
  if (value === null || value === undefined) return "–";
  let i = 0;
  while (value >= 999.5 && i < prefixes.length - 1) {
    value /= 1000;
    ++i;
  }
  return `${Number(value.toPrecision(3))} ${prefixes[i]}`;
}
export const bits = (perSecond) => scaled(perSecond, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
export const rate = (perSecond) => scaled(perSecond, ["/s", "k/s", "M/s", "G/s"]);
export const percent = (value) => scaled(value, ["%"]);
export const time = (microseconds) => scaled(microseconds, ["µs", "ms", "s"]);
export const whole = (value) => value.toLocaleString("en");

// The smallest of 1, 2 and 5 times a power of ten that is not below all values.
function scaleOf(histories, least) {
  const max = Math.max(least, ...histories.flat().map((value) => value ?? 0));
  const power = 10 ** Math.floor(Math.log10(max));
  return power * [1, 2, 5, 10].find((step) => step * power >= max);
}

// A line from the left (oldest) to the right (now), with gaps where a value is null.
function pathOf(values, max, width, height) {
  let path = "", isDown = false;
  values.forEach((value, i) => {
    if (value !== null) {
      const x = width * (kSamples - values.length + i) / (kSamples - 1);
      path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${(height * (1 - value / max)).toFixed(1)}`;
    }
    isDown = value !== null;
  });
  return path;
}

class Lines {
  constructor(count, small) {
    this.svg = document.createElementNS(kSvg, "svg");
    this.svg.setAttribute("viewBox", "0 -2 300 104");
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("aria-hidden", "true");
    if (small) this.svg.setAttribute("class", "small");
    this.paths = Array.from({length: count}, (_, i) => {
      const path = document.createElementNS(kSvg, "path");
      if (i > 0) path.setAttribute("class", "second");
      this.svg.append(path);
      return path;
    });
  }
  // Returns the value at the top.
  draw(histories, least) {
    const max = scaleOf(histories, least);
    this.paths.forEach((path, i) => path.setAttribute("d", pathOf(histories[i], max, 300, 100)));
    return max;
  }
}

// A chart with a title, one line per name, and both axes.
export class Chart {
  // `format` makes a text of a value; the top of the y axis is not below `least`.
  constructor(title, names, format, least) {
    this.format = format;
    this.least = least;
    this.names = names;
    this.lines = new Lines(names.length, false);
    this.top = element("span");
    this.legend = names.map((_, i) => element("li", {className: i > 0 ? "second" : ""}));
    this.element = element("figure", {},
      element("figcaption", {textContent: title}),
      element("div", {className: "ylabels", "aria-hidden": "true"}, this.top, element("span", {textContent: format(0)})),
      this.lines.svg,
      element("div", {className: "xlabels", "aria-hidden": "true"},
        element("span", {textContent: "2 min ago"}), element("span", {textContent: "now"})),
      element("ul", {className: "legend"}, ...this.legend));
  }
  draw(histories) {
    setText(this.top, this.format(this.lines.draw(histories, this.least)));
    this.legend.forEach((item, i) => setText(item, `${this.names[i]}: ${this.format(histories[i].at(-1))}`));
  }
}

// Cells: functions that write a value into a <td>, which keeps what they made for the next time.
export const name = (cell, text) => {
  cell.shown ??= cell.appendChild(element("bdi"));
  setText(cell.shown, text);
};
export const number = (cell, text) => {
  cell.classList.add("number");
  setText(cell, text);
};
export const state = (cell, text) => {
  setText(cell, text);
  cell.classList.toggle("good", text === "up");
  cell.classList.toggle("bad", text === "down");
};
export const meter = (cell, {part, all, label}) => {
  cell.shown ??= cell.appendChild(element("span")).appendChild(element("meter", {min: 0}));
  cell.shown.max = Math.max(all, 1);
  cell.shown.value = part;
  cell.shown.setAttribute("aria-label", label);
};
export const lines = (cell, {histories, format, least}) => {
  cell.shown ??= new Lines(histories.length, true);
  if (!cell.hasChildNodes()) {
    cell.scale = element("span", {className: "scale"});
    cell.append(element("span", {}, cell.shown.svg, cell.scale));
  }
  setText(cell.scale, `0 to ${format(cell.shown.draw(histories, least))}`);
};

// A table whose rows are kept by their keys. Columns: {title, write, isNumber}; the first is the row's header. Below
// 44rem rows are blocks, so every role is explicit.
export class Table {
  constructor(caption, empty, columns) {
    this.columns = columns;
    this.rows = new Map();
    this.body = element("tbody", {role: "rowgroup"});
    this.caption = element("caption", {textContent: caption});
    const heads = columns.map(({title, write}) =>
      element("th", {scope: "col", role: "columnheader", textContent: title, className: write === number ? "number" : ""}));
    this.table = element("table", {role: "table"}, this.caption,
      element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, ...heads)), this.body);
    this.empty = element("p", {className: "empty", textContent: empty});
    this.element = element("div", {}, this.empty, this.table);
  }

  // rows: [key, values by column]
  draw(rows) {
    this.empty.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    const gone = new Set(this.rows.keys());
    let place = this.body.firstChild;
    for (const [key, values] of rows) {
      gone.delete(key);
      const row = this.rows.get(key) ?? this.addRow(key);
      if (row === place) place = place.nextSibling;
      else this.body.insertBefore(row, place);
      values.forEach((value, i) => this.columns[i].write(row.cells[i], value));
    }
    for (const key of gone) {
      this.rows.get(key).remove();
      this.rows.delete(key);
    }
  }

  addRow(key) {
    const row = element("tr", {role: "row"}, ...this.columns.map(({title}, i) => i === 0
      ? element("th", {scope: "row", role: "rowheader"})
      : element("td", {role: "cell", "data-label": title})));
    this.rows.set(key, row);
    return row;
  }
}
