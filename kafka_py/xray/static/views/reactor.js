// The reactor: the lanes of hand-overs, the threads in them and each request as a dot on its way.

import { h, s, svgName, short, duration, name } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "threads", "queues", "requests", "purgatories"];

const LANES = [
  { id: "acceptor", of: "Acceptor.run", roles: ["acceptor"] },
  { id: "network", of: "Processor.run", roles: ["network"] },
  { id: "requestQueue", of: "RequestChannel.send_request" },
  { id: "handler", of: "KafkaRequestHandler.run", roles: ["handler"] },
  { id: "purgatory", of: "DelayedOperationPurgatory.try_complete_else_watch" },
  { id: "responseQueue", of: "RequestChannel.send_response" },
];
const LANE_OF = { receive: "network", "request-queue": "requestQueue", handle: "handler", append: "handler",
  watch: "purgatory", complete: "purgatory", expire: "purgatory", "response-queue": "responseQueue",
  respond: "network", send: "network" };
const MOST_DOTS = 150;
const BOX = 34;

/** An API's colour class. */
export function colour(api) {
  if (/^produce$/i.test(api)) return "c-produce";
  if (/^fetch/i.test(api)) return "c-fetch";
  if (/metadata|apiversions|listoffsets|offsetforleader/i.test(api)) return "c-meta";
  if (/group|heartbeat|offset|coordinator/i.test(api)) return "c-group";
  if (/txn|producerid|markers/i.test(api)) return "c-txn";
  if (/leaderandisr|stopreplica|shutdown/i.test(api)) return "c-control";
  return "c-other";
}

function threadsOf(store, lane) {
  const found = [...store.threads.values()].filter((each) => lane.roles.includes(each.role) && each.state !== "ended");
  found.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  return found.map((each) => ({ id: each.name, label: shortThread(each.name), state: stateOf(store, each),
    on: each.on, thread: true }));
}

const shortThread = (thread) => thread.replace(/^((data|control)-plane-)?kafka-/, "").replace("socket-", "").replace(/-ListenerName\([^)]*\)/, "")
  .replace(/-(PLAINTEXT|SSL)/g, "");

/** A thread's state; what stands at a gate is held, whatever was told of it before. */
const stateOf = (store, thread) => store.held.some((each) => each.thread === thread.name) ? "held"
  : thread.state ?? "running";

function itemsOf(store, lane) {
  if (lane.roles) return threadsOf(store, lane);
  const queues = store.state.queues ?? [];
  if (lane.id === "requestQueue") {
    const found = queues.filter((each) => /request/i.test(each.name) && !/response/i.test(each.name));
    return queueItems(found.length ? found : [{ name: "requestQueue", depth: 0 }]);
  }
  if (lane.id === "responseQueue") {
    const found = queues.filter((each) => /response/i.test(each.name));
    return queueItems(found.length ? found : [{ name: "responseQueue", depth: 0 }]);
  }
  const found = (store.state.purgatories ?? []).map((each) => ({ id: each.name, label: each.name,
    depth: each.delayed ?? each.watched }));
  return found.length ? found : [{ id: "Produce", label: "Produce" }];
}

const queueItems = (queues) => queues.map((each) => ({ id: each.name, label: short(each.name, 22), depth: each.depth,
  capacity: each.capacity }));

/** Lanes with their boxes' places: columns where there is room, else one under another. */
export function layout(store, width) {
  const narrow = width < 700;
  const lanes = LANES.map((lane) => ({ ...lane, items: itemsOf(store, lane) }));
  let y = 8, most = 0;
  lanes.forEach((lane, i) => {
    const across = narrow ? Math.max(1, Math.floor((width - 20) / 168)) : 1;
    const gap = narrow ? 6 : 22;
    const laneWidth = narrow ? width - 4 : (width - 4 - gap * 5) / 6;
    const boxWidth = (laneWidth - 12 - (across - 1) * 6) / across;
    lane.x = narrow ? 2 : 2 + i * (laneWidth + gap);
    lane.y = narrow ? y : 8;
    lane.width = laneWidth;
    lane.items.forEach((item, n) => {
      item.x = lane.x + 6 + (n % across) * (boxWidth + 6);
      item.y = lane.y + 44 + Math.floor(n / across) * (BOX + 8);
      item.width = boxWidth;
    });
    const rows = Math.ceil(lane.items.length / across);
    lane.height = 50 + Math.max(1, rows) * (BOX + 8);
    y += lane.height + gap;
    most = Math.max(most, lane.height);
  });
  if (!narrow) for (const lane of lanes) lane.height = most;
  return { lanes, narrow, height: narrow ? y : most + 46 };
}

const boxText = (item) => item.thread ? t(`state.${item.state}`)
  : item.capacity ? `${item.depth ?? 0} / ${item.capacity}` : `${item.depth ?? 0}`;

function drawItem(item) {
  const told = item.thread ? `${item.id}: ${t(`state.${item.state}`)}${item.on ? ` (${item.on})` : ""}` : item.id;
  const held = item.thread && item.state === "held";
  const act = held ? { "data-act": "step", "data-arg": item.id, role: "button", "aria-label": t("hold.stepThread",
    { thread: item.id }) } : { role: "img", "aria-label": told };
  return s("g", { "data-key": `b ${item.id}`, "data-item": "", tabindex: -1, ...act,
    class: `box ${item.thread ? `s-${item.state}` : "queue"}` },
    s("title", {}, told),
    s("rect", { x: item.x, y: item.y, width: item.width, height: BOX, rx: 5 }),
    s("text", { class: "label", x: item.x + 8, y: item.y + 14 }, short(item.label, Math.floor((item.width - 30) / 6.3))),
    s("text", { class: "small", x: item.x + 8, y: item.y + 28 }, boxText(item)));
}

function drawLane(lane) {
  return s("g", { "data-key": lane.id, class: "lane" },
    s("rect", { class: "ground", x: lane.x, y: lane.y, width: lane.width, height: lane.height, rx: 8 }),
    svgName(lane.of, { x: lane.x + 8, y: lane.y + 18, class: "name head" }, lane.of.split(".")[0]),
    s("text", { class: "small", x: lane.x + 8, y: lane.y + 34 }, t(`lane.${lane.id}`)),
    lane.items.map(drawItem));
}

function arrows(lanes, narrow) {
  if (narrow) return [];
  const across = lanes.slice(1, -1).map((lane, i) => {
    const next = lanes[i + 2];
    const y = lane.y + 18;
    return s("path", { class: "flow", d: `M${lane.x + lane.width + 3} ${y}H${next.x - 4}`, "marker-end": "url(#tip)" });
  });
  const last = lanes.at(-1), network = lanes[1], low = last.y + last.height;
  const back = s("path", { class: "flow", "marker-end": "url(#tip)", d: `M${last.x + last.width / 2} ${low + 2}v14H${
    network.x + network.width / 2}v-11` });
  const told = s("text", { class: "small", x: (last.x + network.x + network.width) / 2, y: low + 32,
    "text-anchor": "middle" }, t("reactor.back"));
  const accepted = s("path", { class: "flow", "marker-end": "url(#tip)", d: `M${lanes[0].x + lanes[0].width + 3} ${
    lanes[0].y + 18}H${network.x - 4}` });
  return [accepted, ...across, back, told];
}

const tip = () => s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7,
  markerHeight: 7, orient: "auto" }, s("path", { class: "tip", d: "M0 0L8 4L0 8z" })));

function legend() {
  const apis = [["c-produce", "Produce"], ["c-fetch", "Fetch"], ["c-meta", "Metadata …"], ["c-group", "JoinGroup …"],
    ["c-txn", "AddPartitionsToTxn …"], ["c-control", "LeaderAndIsr …"], ["c-other", t("reactor.others")]];
  const states = ["select", "running", "waiting-queue", "waiting-lock", "held"];
  return h("p", { class: "legend" },
    apis.map(([cls, text]) => h("span", {}, h("i", { class: `key dotkey ${cls}` }), text)),
    states.map((state) => h("span", {}, h("i", { class: `key s-${state}` }), t(`state.${state}`))));
}

function heldList(store, holding) {
  const rows = store.held.map((each) => {
    const request = each.request ? store.requests.get(each.request.id ?? each.request) ?? each.request : null;
    return h("li", { "data-key": each.thread },
      h("button", { type: "button", class: "small", "data-act": "step", "data-arg": each.thread },
        `${t("hold.step")} ${short(each.thread, 48)}`),
      " ", h("b", {}, each.point), " ", each.method ? name(each.method) : null, " ",
      request?.api ? h("span", { class: "tag" }, h("i", { class: `key dotkey ${colour(request.api)}` }),
        `${request.api} #${request.id} ${short(request.clientId, 24)}`) : null,
      each.partition ? ` ${short(each.partition)}` : "", " ", h("span", { class: "faint" }, duration(each.since_us)));
  });
  return h("section", { "aria-label": t("reactor.held") }, h("h2", {}, t("reactor.held")),
    rows.length ? h("ul", { class: "plain" }, rows) : h("p", { class: "faint" }, holding ? t("reactor.willHold") : t("reactor.noneHeld")));
}

function otherThreads(store) {
  const shown = LANES.flatMap((lane) => lane.roles ?? []);
  const others = [...store.threads.values()].filter((each) => !shown.includes(each.role) && each.state !== "ended");
  return h("details", { class: "others" }, h("summary", {}, t("reactor.otherThreads", { n: others.length })),
    h("ul", { class: "chips" }, others.map((each) => h("li", { class: `chip s-${stateOf(store, each)}`, "data-key": each.name },
      `${short(each.name, 44)} · ${t(`state.${stateOf(store, each)}`)}`))));
}

/** The view; dots live in a layer of their own, which `animate` fills. */
export function render(store, { width, holding }) {
  const plan = layout(store, width);
  return [h("h1", {}, t("view.reactor")), legend(),
    s("svg", { class: "reactor", viewBox: `0 0 ${width} ${plan.height}`, width, height: plan.height,
      role: "group", "aria-label": t("view.reactor") },
      tip(), plan.lanes.map(drawLane), arrows(plan.lanes, plan.narrow),
      s("g", { id: "dots", "data-own": "", "data-key": "dots" })),
    heldList(store, holding), otherThreads(store)];
}

/** The dots: each goes through its steps one after another, so that an eye can follow what took microseconds. */
export class Dots {
  constructor(store) {
    this.store = store;
    this.dots = new Map();
    this.moved = 0;
    store.onEvent((event) => this.event(event));
  }

  event(event) {
    const lane = LANE_OF[event.kind];
    if (!lane || !event.request) return;
    let dot = this.dots.get(event.request.id);
    if (!dot) {
      if (this.dots.size >= MOST_DOTS || event.kind === "send") return;
      dot = { id: event.request.id, path: [], trail: [], at: 0, node: null };
      this.dots.set(dot.id, dot);
    }
    dot.path.push({ lane, kind: event.kind, item: itemName(lane, event) });
  }

  clear() {
    for (const dot of this.dots.values()) dot.node?.remove();
    this.dots.clear();
  }

  /** Called for each frame: move what has stood long enough. */
  animate(now, store, width, still) {
    const layer = document.getElementById("dots");
    if (!layer) return this.forget();
    const dwell = still ? 500 : this.dots.size > 60 ? 40 : this.dots.size > 15 ? 160 : 320;
    const plan = layout(store, width);
    const stacks = new Map();
    for (const dot of this.dots.values()) {
      if (dot.path.length && now - dot.at >= dwell) this.move(dot, now);
      if (dot.sent && !dot.path.length && now - dot.at > 2500) this.end(dot);
      else if (dot.step) this.place(dot, layer, plan, stacks);
    }
  }

  forget() {
    for (const dot of this.dots.values()) {
      if (dot.path.some((step) => step.kind === "send") || dot.sent) this.dots.delete(dot.id);
    }
  }

  move(dot, now) {
    dot.step = dot.path.shift();
    dot.at = now;
    dot.sent = dot.step.kind === "send";
    if (dot.trail.at(-1) !== dot.step.lane) dot.trail.push(dot.step.lane);
  }

  end(dot) {
    dot.node?.remove();
    this.dots.delete(dot.id);
  }

  place(dot, layer, { lanes }, stacks) {
    const lane = lanes.find((each) => each.id === dot.step.lane);
    const item = lane.items.find((each) => each.id === dot.step.item) ?? lane.items[0];
    const spot = item ?? { x: lane.x, y: lane.y + 40, width: lane.width, id: lane.id };
    const slot = stacks.get(spot.id) ?? 0;
    stacks.set(spot.id, slot + 1);
    const x = spot.x + spot.width - 12 - (slot % 6) * 13;
    const y = spot.y + 10 + (Math.floor(slot / 6) % 2) * 14;
    this.draw(dot, layer, x, y);
  }

  draw(dot, layer, x, y) {
    const request = this.store.requests.get(dot.id) ?? {};
    if (!dot.node || dot.node.parentNode !== layer) {
      dot.node?.remove();
      dot.node = s("g", { class: `dot ${colour(request.api ?? "")}`, role: "button", tabindex: -1, "data-item": "",
        "data-act": "request", "data-arg": dot.id, "data-api": request.api ?? "" }, s("title", {}), s("circle", { r: 5.5 }));
      layer.append(dot.node);
    }
    const told = `${request.api ?? "?"} #${dot.id} ${short(request.clientId, 30)}: ${dot.step.kind}`;
    dot.node.firstChild.textContent = told;
    dot.node.setAttribute("aria-label", told);
    dot.node.setAttribute("data-trail", dot.trail.join(" "));
    dot.node.classList.toggle("sent", dot.sent);
    dot.node.style.transform = `translate(${x}px, ${y}px)`;
  }
}

function itemName(lane, event) {
  if (lane === "purgatory") return event.purgatory ?? "Produce";
  if (lane === "responseQueue") return event.queue ?? `responseQueue-${event.processor}`;
  if (lane === "requestQueue") return event.queue ?? null;
  return event.thread;
}
