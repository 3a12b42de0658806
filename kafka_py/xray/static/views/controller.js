// The controller: its queue of events, its epochs, the two state machines, and what it sent to whom.

import { h, s, name, short, duration, count } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "controller"];

const PARTITION = { title: "PartitionStateMachine", states: ["NonExistentPartition", "NewPartition", "OnlinePartition",
  "OfflinePartition"] };
const REPLICA = { title: "ReplicaStateMachine", states: ["NonExistentReplica", "NewReplica", "OnlineReplica",
  "OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible"] };
const MOVES = {
  PartitionStateMachine: [[0, 1], [1, 2], [2, 3], [3, 2], [1, 3], [3, 0]],
  ReplicaStateMachine: [[0, 1], [1, 2], [2, 3], [3, 2], [3, 4], [4, 5], [4, 6], [6, 3], [6, 2], [1, 3], [5, 0]],
};

function place(i, n) {
  const angle = 2 * Math.PI * i / n - Math.PI / 2;
  return [180 + 112 * Math.cos(angle), 130 + 96 * Math.sin(angle)];
}

function edge([from, to], n) {
  const [x1, y1] = place(from, n), [x2, y2] = place(to, n);
  const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy), cut = 26 / length;
  const bend = 12 / length;
  const mx = (x1 + x2) / 2 - dy * bend, my = (y1 + y2) / 2 + dx * bend;
  const f = (n) => n.toFixed(1);
  return s("path", { class: "flow", "marker-end": "url(#arrow)",
    d: `M${f(x1 + dx * cut)} ${f(y1 + dy * cut)}Q${f(mx)} ${f(my)} ${f(x2 - dx * cut)} ${f(y2 - dy * cut)}` });
}

function machine({ title, states }, counts) {
  const n = states.length;
  const told = states.map((state) => `${state} ${counts?.[state] ?? 0}`).join(", ");
  return h("figure", { class: "card" }, h("figcaption", {}, name(title)),
    s("svg", { class: "machine", viewBox: "0 0 360 264", role: "img", "aria-label": `${title}: ${told}` },
      s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
        orient: "auto" }, s("path", { class: "tip", d: "M0 0L8 4L0 8z" }))),
      MOVES[title].map((move) => edge(move, n)),
      states.map((state, i) => {
        const [x, y] = place(i, n), held = counts?.[state] ?? 0;
        return s("g", { class: held ? "node some" : "node" }, s("circle", { cx: x, cy: y, r: 17 }),
          s("text", { x, y: y + 4, "text-anchor": "middle", class: "label" }, held),
          s("text", { x, y: y + 30, "text-anchor": "middle", class: "small" }, short(state.replace(/Partition$|^Replica(?=D)/,
            "").replace(/Replica$/, ""), 22)));
      })));
}

function brokers(controller) {
  return h("div", { class: "cards" }, (controller.brokers ?? []).map((each) => h("section", { class: "card",
    "data-key": `c${each.id}` }, h("h3", {}, t("controller.toBroker", { id: each.id, queued: each.queued ?? 0 })),
  h("ul", { class: "plain" }, (each.sent ?? []).slice(-12).reverse().map((sent) => h("li", {}, h("b", {}, sent.api), " ",
    short([sent.what].flat().join("; "), 120), sent.count > sent.what.length ? ` +${sent.count - sent.what.length}`
      : ""))))));
}

/** The view. */
export function render(store) {
  const controller = store.state.controller ?? {};
  const queue = controller.queue ?? [];
  return [h("h1", {}, t("view.controller")),
    h("p", {}, h("b", {}, controller.active ? t("controller.active") : t("controller.passive", { id: controller.id ?? "–" })),
      ` · ${t("controller.facts", { epoch: controller.epoch ?? "–", state: controller.state ?? "–" })} `,
      name("KafkaController.elect"), " ", name("ControllerEventManager.put")),
    h("div", { class: "cards" }, machine(PARTITION, controller.partitionStates),
      machine(REPLICA, controller.replicaStates),
      h("section", { class: "card" }, h("h2", {}, t("controller.queue", { n: count(queue.length) })),
        h("ol", { class: "plain" }, queue.map((each) => h("li", {}, h("b", {}, short(each.event, 60)), " ",
          h("span", { class: "faint" }, duration((each.waitingMs ?? 0) * 1000))))),
        h("h3", {}, t("controller.past")),
        h("ol", { class: "plain" }, store.controller.slice(0, 14).map((each) => h("li", {}, short(each.event ?? each.label
          ?? each.method ?? each.kind, 60)))))),
    h("h2", {}, t("controller.sent")), controller.brokers?.length ? brokers(controller)
      : h("p", { class: "faint" }, t("nothing"))];
}

