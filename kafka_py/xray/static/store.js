// What the page knows of one broker: snapshots of /xray/state by section, and what the event stream told since.

const KEPT_REQUESTS = 500;
const ON_ITS_WAY = ["receive", "request-queue", "handle", "append", "watch", "complete", "expire", "response-queue",
  "respond", "send"];

export class Store {
  constructor() {
    this.listeners = [];
    this.clear();
  }

  clear() {
    this.state = {};
    this.busy = [];
    this.requests = new Map();
    this.threads = new Map();
    this.lastId = 0;
    this.dropped = 0;
    this.live = false;
    this.seen = [];
    this.controller = [];
    this.tick = null;
  }

  /** Events of the last second. */
  perSecond() {
    const now = performance.now();
    this.seen = this.seen.filter(([at]) => now - at < 1000);
    return this.seen.reduce((sum, [, n]) => sum + n, 0);
  }

  get broker() { return this.state.broker ?? {}; }
  get held() { return this.broker.held ?? []; }

  onEvent(listener) { this.listeners.push(listener); }

  /** Take a snapshot's sections over; a section that is null was busy, so the last one stays. */
  snapshot(sections) {
    this.busy = sections.busy ?? [];
    for (const [name, value] of Object.entries(sections)) {
      if (value !== null) this.state[name] = value;
    }
    for (const each of sections.threads ?? []) this.threads.set(each.name, { ...each });
    for (const each of sections.requests ?? []) this.inFlight(each);
  }

  inFlight(each) {
    const known = this.requests.get(each.id);
    if (!known) this.requests.set(each.id, { ...each, steps: [] });
    else if (!known.api) Object.assign(known, { ...each, where: known.where });
  }

  /** Take a batch of events over. */
  batch(events) {
    this.seen.push([performance.now(), events.length]);
    if (this.seen.length > 100) this.perSecond();
    for (const event of events) {
      if (event.id) this.lastId = event.id;
      this.one(event);
    }
  }

  one(event) {
    if (event.kind === "dropped") this.dropped += event.count ?? 1;
    if (event.kind === "thread") this.thread(event);
    if (event.kind === "controller-event") this.controller = [event, ...this.controller].slice(0, 40);
    if (event.kind === "timer-tick") this.tick = event;
    if (event.request && ON_ITS_WAY.includes(event.kind)) this.request(event);
    for (const listener of this.listeners) listener(event);
  }

  thread(event) {
    const known = this.threads.get(event.thread) ?? { name: event.thread, role: roleOf(event.thread) };
    this.threads.set(event.thread, { ...known, state: event.state, on: event.on ?? null });
  }

  request(event) {
    const { id } = event.request;
    const known = this.requests.get(id) ?? { id, steps: [] };
    Object.assign(known, event.request);
    known.where = event.kind;
    known.steps.push({ kind: event.kind, us: event.us, thread: event.thread, method: event.method ?? null,
      queue: event.queue ?? null, processor: event.processor ?? null, purgatory: event.purgatory ?? null,
      partition: event.partition ?? null, by: event.by ?? null, keys: event.keys ?? null });
    if (known.steps.length > 200) known.steps.splice(2, 1);
    if (event.kind === "send") known.ended = true;
    this.requests.set(id, known);
    if (this.requests.size > KEPT_REQUESTS) this.forgetOldest();
  }

  forgetOldest() {
    for (const [id, request] of this.requests) {
      if (request.ended || this.requests.size > 2 * KEPT_REQUESTS) this.requests.delete(id);
      if (this.requests.size <= KEPT_REQUESTS) return;
    }
  }

  /** Take over the finished requests of the journal that the stream has not told of. */
  journal(entries) {
    const told = new Set([...this.requests.values()].map((r) => `${r.connection} ${r.correlationId}`));
    for (const each of entries) {
      const id = `${each.connection} ${each.correlationId}`;
      if (!told.has(id)) this.requests.set(`j ${id}`, { ...each, id: `j ${id}`, steps: [], ended: true });
    }
    while (this.requests.size > KEPT_REQUESTS) this.requests.delete(this.requests.keys().next().value);
  }
}

/** A thread's role by the names Kafka gives its threads. */
export function roleOf(name) {
  const roles = [[/socket-acceptor/, "acceptor"], [/network-thread/, "network"], [/request-handler/, "handler"],
    [/FetcherThread/, "fetcher"], [/^controller-event/, "controller"], [/send-thread/i, "sender"],
    [/ExpirationReaper|executor/, "reaper"], [/scheduler/, "scheduler"], [/cleaner/, "cleaner"],
    [/metadata-manager/, "coordinator"]];
  return (roles.find(([pattern]) => pattern.test(name)) ?? [null, "other"])[1];
}

export const PARTS = ["queue", "local", "remote", "throttle", "responseQueue", "send"];

/** The six parts of a request's time, in µs; null where one has not begun. */
export function parts(request) {
  if (request.stampsMicros) return partsOfStamps(request);
  const at = {};
  for (const step of request.steps) {
    if (!(step.kind in at) || step.kind === "complete") at[step.kind] = step.us;
  }
  const done = at.complete ?? at.expire;
  const between = (a, b) => a === undefined || b === undefined ? null : Math.max(0, b - a);
  return {
    queue: between(at.receive, at.handle),
    local: between(at.handle, at.watch ?? at["response-queue"]),
    remote: between(at.watch, done ?? at["response-queue"]),
    throttle: between(done, at["response-queue"]),
    responseQueue: between(at["response-queue"], at.respond),
    send: between(at.respond, at.send),
  };
}

function partsOfStamps({ stampsMicros: at, throttleMicros = 0 }) {
  return {
    queue: at.requestDequeue - at.start,
    local: at.apiLocalComplete - at.requestDequeue,
    remote: at.responseComplete - at.apiLocalComplete - throttleMicros,
    throttle: throttleMicros,
    responseQueue: at.responseDequeue - at.responseComplete,
    send: at.end - at.responseDequeue,
  };
}

/** Who completed a delayed request: {"follower", "request"} or a thread. */
export const completedBy = (request) => request.steps.findLast((step) => step.kind === "complete")?.by ?? null;
