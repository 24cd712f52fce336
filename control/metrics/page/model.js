// Samples of state.json: rates, histories, and which events are new. Knows nothing of the page.

export const kSamples = 120;  // of a history, one per second

// What identifies a row of `peers`: a name is unique at an I/O unit, an address at a host.
export function keyOf(role, peer) {
  if (role === "switch") return `port ${peer.port}`;
  return role === "iou" ? peer.name : peer.address;
}

export class Model {
  constructor() {
    this.histories = new Map();
    this.kept = new Map();  // of this sample
    this.before = null;
    this.now = null;
    this.newest = null;  // event that was seen
  }

  // Returns the events that are new, the oldest first, and how many in front of them were missed.
  add(state) {
    const sample = {at: state.milliseconds, show: state.show, stats: new Map(Object.entries(state.stats)),
                    texts: new Map(Object.entries(state.texts))};
    const isRestarted = this.isOfAnotherRun(state.events);
    this.before = isRestarted ? null : this.now;
    this.now = sample;
    this.histories = this.kept;
    this.kept = new Map();
    const next = this.newest === null || isRestarted ? 1 : this.newest.number + 1;
    const events = state.events.filter((event) => event.number >= next);
    if (events.length === 0) return {events, missed: 0};
    this.newest = events.at(-1);
    return {events, missed: events[0].number - next};
  }

  // A program that was restarted numbers its events from 1.
  isOfAnotherRun(events) {
    if (this.newest === null) return false;
    const same = events.find((event) => event.number === this.newest.number);
    if (same !== undefined) return same.milliseconds !== this.newest.milliseconds;
    return (events.at(-1)?.number ?? 0) < this.newest.number;
  }

  value(name) { return this.now.stats.get(name) ?? 0; }

  // Per second, or null if it is not known; the counters of a host begin again when it returns.
  rate(...names) {
    if (this.before === null) return null;
    const seconds = (this.now.at - this.before.at) / 1000;
    if (seconds <= 0) return null;
    let sum = 0;
    for (const name of names) sum += this.value(name) - (this.before.stats.get(name) ?? 0);
    return sum < 0 ? null : sum / seconds;
  }
  bits(...names) {
    const bytes = this.rate(...names);
    return bytes === null ? null : bytes * 8;
  }

  // Appends to the history of that name; once per sample. One that a sample has nothing for is forgotten.
  history(name, value) {
    const values = this.histories.get(name) ?? [];
    this.kept.set(name, values);
    values.push(value);
    if (values.length > kSamples) values.shift();
    return values;
  }

  // Names of counters that match; without the parts that belong to one host of a unit.
  names(expression) {
    const isUnit = this.now.show.role === "iou";
    return [...this.now.stats.keys()].filter((name) => expression.test(name) && !(isUnit && name.startsWith("host.")));
  }
  drops() { return this.names(/\.drop\./).filter((name) => this.value(name) > 0); }
  // The drops of one host at an I/O unit.
  dropsOf(host) {
    const head = `host.${host}.`;
    return [...this.now.stats.keys()].filter((name) => name.startsWith(head) && name.includes(".drop."));
  }

  // The longest of the peer's data channels, in microseconds; null if none is known.
  roundTrip(peer) {
    const all = this.now.show.channels.filter((c) => c.peer === peer.name && c.channel === 1 && c.round_trip_ns);
    return all.length === 0 ? null : Math.max(...all.map((c) => c.round_trip_ns)) / 1000;
  }
  slowest() {
    const known = this.now.show.peers.map((peer) => this.roundTrip(peer)).filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  }

  // Pools of one size, peer and side as one, with what is in use.
  pools() {
    const all = new Map();
    for (const pool of this.now.show.pools) {
      const key = JSON.stringify([pool.peer, pool.side, pool.size]);
      const sum = all.get(key) ?? {key, peer: pool.peer, side: pool.side, size: pool.size, elements: 0, available: 0};
      sum.elements += pool.elements;
      sum.available += pool.available;
      all.set(key, sum);
    }
    return [...all.values()];
  }
  // The part of all elements of that side that is in use, in percent; null without elements.
  fill(side) {
    const pools = this.pools().filter((pool) => pool.side === side);
    const elements = pools.reduce((sum, pool) => sum + pool.elements, 0);
    const available = pools.reduce((sum, pool) => sum + pool.available, 0);
    return elements === 0 ? null : 100 * (elements - available) / elements;
  }
}
