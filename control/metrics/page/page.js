// The live page (docs/page.md): reads state.json every second, and shows it as long as somebody looks.
import {Model, keyOf} from "./model.js";
import {Chart, Table, bits, element, lines, meter, name, number, percent, rate, setText, state, time, whole} from "./view.js";

const kPeriod = 1000, kPatience = 4000, kEventsMax = 200;
const at = (id) => document.getElementById(id);
const column = (title, write) => ({title, write});

const model = new Model();
let parts = null;

// Counters of each role, from the view of the program: bytes and frames into it and out of it.
const kRoles = {
  iou: {
    title: "I/O unit", peers: "Hosts", into: "From the LAN", out: "To the LAN",
    rx: (m) => m.names(/^lan\d*\.port\.rx\.bytes$/), tx: (m) => m.names(/^lan\d*\.port\.tx\.bytes$/),
    rxFrames: (m) => m.names(/^lan\d*\.port\.rx\.frames$/), txFrames: (m) => m.names(/^lan\d*\.port\.tx\.frames$/),
    lan: (i) => (i === 0 ? "lan.port" : `lan${i}.port`),
  },
  host: {
    title: "host", peers: "I/O units", into: "From the system", out: "To the system",
    rx: () => ["tap.rx.bytes"], tx: () => ["tap.tx.bytes"],
    rxFrames: () => ["tap.rx.frames"], txFrames: () => ["tap.tx.frames"],
    lan: () => "tap",
  },
  switch: {
    title: "switch", peers: "Ports", into: "Received", out: "Sent",
    rxFrames: () => ["switch.rx.cell"], txFrames: () => ["switch.tx.cell"],
  },
};

// A table for the role, with a function from a peer to the values of its columns.
function peersOf(role) {
  const common = [column("State", state), column("Address", name)];
  if (role === "switch") {
    return {columns: [column("Peer", name), ...common, column("Port", number), column("LID", number), column("Cells in", number), column("Cells out", number)],
            values: (peer) => [peer.name, peer.state, peer.address, String(peer.port), String(peer.lid),
                               rate(model.rate(`switch.port${peer.port}.rx.cell`)), rate(model.rate(`switch.port${peer.port}.tx.cell`))]};
  }
  if (role === "host") {
    return {columns: [column("I/O unit", name), column("State", state), column("Name", name), column("MAC address", name), column("Round trip", number)],
            values: (peer) => [peer.address, peer.state, peer.name, peer.mac, time(model.roundTrip(peer))]};
  }
  return {
    columns: [column("Host", name), ...common, column("MAC address", name), column("NIC", number), column("From the host", number),
              column("To the host", number), column("Both, 2 min", lines), column("Round trip", number), column("Drops", number)],
    values: (peer) => {
      const counter = (way, unit) => `host.${peer.name}.iou.${way}.${unit}`;
      const from = model.bits(counter("from_host", "ethernet_bytes")), to = model.bits(counter("to_host", "ethernet_bytes"));
      const histories = [model.history(`from ${peer.name}`, from), model.history(`to ${peer.name}`, to)];
      return [peer.name, peer.state, peer.address, peer.mac, String(peer.nic ?? 0), bits(from), bits(to),
              {histories, format: bits, least: 1000}, time(model.roundTrip(peer)), rate(model.rate(...model.dropsOf(peer.name)))];
    },
  };
}

function build(role) {
  const texts = kRoles[role];
  const charts = [];
  const chart = (title, names, format, least, values) => charts.push({chart: new Chart(title, names, format, least), title, values});
  if (texts.rx) chart("Traffic", [texts.into, texts.out], bits, 1000, () => [model.bits(...texts.rx(model)), model.bits(...texts.tx(model))]);
  chart(role === "switch" ? "Cells" : "Frames", [texts.into, texts.out], rate, 10,
        () => [model.rate(...texts.rxFrames(model)), model.rate(...texts.txFrames(model))]);
  if (role !== "switch") chart("Pools in use", ["Own", "Of peers"], percent, 100, () => [model.fill("own"), model.fill("peer")]);
  if (role !== "switch") chart("Round trip", ["Slowest connection"], time, 10, () => [model.slowest()]);
  chart("Drops", ["All causes"], rate, 10, () => [model.rate(...model.names(/\.drop\./))]);
  const peers = peersOf(role);
  const tables = {
    peers: new Table(`${texts.peers}, with rates per second`, "Nobody is connected.", peers.columns),
    lan: new Table("NICs and interfaces of the program, with rates per second", "There is none.",
      [column("Interface", name), column("Link", state), column("MTU", number), column("MAC address", name), column(texts.into, number), column(texts.out, number)]),
    pools: new Table("Elements of pools: own are those that the program receives into", "There are no pools.",
      [column("Peer", name), column("Side", name), column("Element size", number), column("In use", meter), column("Used", number), column("Elements", number)]),
    drops: new Table("Since the program started", "Nothing was dropped.",
      [column("Cause", name), column("Meaning", name), column("Per second", number), column("In all", number)]),
  };
  at("charts").replaceChildren(...charts.map(({chart: {element: figure}}) => figure));
  for (const [id, table] of Object.entries(tables)) at(id).replaceChildren(table.element);
  setText(at("peers-title"), texts.peers);
  return {role, charts, tables, peers};
}

function draw() {
  const {show} = model.now;
  if (parts?.role !== show.role) parts = build(show.role);
  setText(at("name"), show.name);
  setText(at("role"), kRoles[show.role].title);
  at("state").hidden = false;
  setText(at("state"), `Fabric: ${show.state}`);
  document.title = `${show.name}: ${show.state}`;
  for (const {chart, title, values} of parts.charts) {
    chart.draw(values().map((value, i) => model.history(`chart ${title} ${i}`, value)));
  }
  const {peers, lan, pools, drops} = parts.tables;
  peers.draw(show.peers.map((peer) => [keyOf(show.role, peer), parts.peers.values(peer)]));
  lan.draw(show.lan.map((port, i) => {
    const head = kRoles[show.role].lan(i);
    return [String(i), [port.port, port.link, whole(port.mtu), port.mac, bits(model.bits(`${head}.rx.bytes`)), bits(model.bits(`${head}.tx.bytes`))]];
  }));
  pools.draw(model.pools().map(({key, peer, side, size, elements, available}) => {
    const part = elements - available;
    return [key, [peer, side, `${whole(size)} B`, {part, all: elements, label: `${part} of ${elements} in use`}, whole(part), whole(elements)]];
  }));
  drops.draw(model.drops().map((cause) => ({cause, perSecond: model.rate(cause), all: model.value(cause)}))
    .sort((a, b) => (b.perSecond ?? 0) - (a.perSecond ?? 0) || b.all - a.all)
    .map(({cause, perSecond, all}) => [cause, [cause, model.now.texts.get(cause) ?? "", rate(perSecond), whole(all)]]));
}

function report(text, level = "info", date = new Date()) {
  const list = at("events");
  list.prepend(element("li", {className: level === "info" ? "" : "warn"}, element("time", {dateTime: date.toISOString(), textContent: clock(date)}),
    level === "info" ? "" : `${level}: `, element("bdi", {textContent: text})));
  while (list.children.length > kEventsMax) list.lastChild.remove();
}
const clock = (date) => date.toLocaleTimeString("en-GB");

// Changes only what screen readers shall read out.
let lostAt = null, isPaused = false;
function setConnection(kind, text) {
  document.body.dataset.connection = kind;
  setText(at("connection"), text);
}

async function refresh() {
  try {
    const response = await fetch("state.json", {cache: "no-store", signal: AbortSignal.timeout(kPatience)});
    if (!response.ok) throw new Error(`status ${response.status}`);
    const {events, missed} = model.add(await response.json());
    draw();
    if (lostAt !== null) report(`This page reaches the program again, after ${((Date.now() - lostAt) / 1000).toFixed(1)} s`);
    lostAt = null;
    if (missed > 0) report(`${whole(missed)} earlier events are not shown`);
    events.forEach(({text, level, milliseconds}) => report(text, level, new Date(milliseconds)));
    setConnection("live", isPaused ? "Paused" : "Live");
    setText(at("time"), `Values of ${clock(new Date())}`);
  } catch (error) {
    if (lostAt === null) {
      lostAt = Date.now();
      report("This page does not reach the program", "warn");
    }
    setConnection("lost", `Connection lost at ${clock(new Date(lostAt))}; trying again`);
  }
}

// One request at a time, and none while nobody looks.
let timer = null, isBusy = false;
async function run() {
  clearTimeout(timer);
  if (isBusy || isPaused || document.hidden) return;
  isBusy = true;
  const began = Date.now();
  await refresh();
  isBusy = false;
  timer = setTimeout(run, Math.max(100, kPeriod - (Date.now() - began)));
}

at("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  at("pause").setAttribute("aria-pressed", String(isPaused));
  if (isPaused) setConnection("paused", "Paused");
  else run();
});
document.addEventListener("visibilitychange", run);
run();
