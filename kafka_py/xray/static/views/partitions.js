// Partitions: a ruler per replica, the segments under it, index entries as ticks; a batch as hex, byte for byte.

import { h, s, name, count, short } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "partitions"];
export const choice = { topic: "" };

const MARKS = ["logStart", "highWatermark", "lastStable", "logEnd"];

const known = (offset) => offset === null || offset === undefined || offset < 0 ? "–" : offset;

/** A leader knows of a follower where its log ends, not what its high watermark is. */
const asKnown = (replica) => replica.local === false ? { ...replica, highWatermark: null, lastStable: null } : replica;

function scale(partition) {
  const all = partition.replicas.flatMap((each) => MARKS.map((mark) => each[mark])).filter((n) => n >= 0);
  const low = Math.min(...all, ...(partition.segments ?? []).map((each) => each.base));
  const high = Math.max(...all, low + 1);
  return (offset) => 66 + (Math.max(low, offset) - low) / (high - low) * 276;
}

function mark(which, replica, x, y) {
  const offset = replica[which];
  if (offset === null || offset === undefined || offset < 0) return null;
  const at = x(offset), up = which === "highWatermark" || which === "logStart";
  return s("g", { class: `mark m-${which}` }, s("title", {}, `${t(`mark.${which}`)} ${offset}`),
    s("path", { d: up ? `M${at} ${y + 3}l-4 -8h8z` : `M${at} ${y + 11}l-4 8h8z` }));
}

function ruler(replica, partition, x, i) {
  const y = 18 + i * 34;
  const inIsr = (partition.isr ?? []).includes(replica.broker), leads = partition.leader === replica.broker;
  const start = x(replica.logStart ?? 0), end = x(replica.logEnd ?? 0), hw = x(replica.highWatermark ?? 0);
  const told = `${t("partitions.broker", { id: replica.broker })}${leads ? ` ★ ${t("partitions.leader")}` : ""}: ${
    MARKS.map((each) => `${t(`mark.${each}`)} ${known(replica[each])}`).join(", ")}`;
  return s("g", { class: `ruler ${inIsr ? "isr" : "osr"}`, role: "img", "aria-label": told },
    s("title", {}, told),
    s("text", { x: 2, y: y + 8, class: "small" }, `${leads ? "★ " : ""}${t("partitions.broker", { id: replica.broker })}`),
    s("text", { x: 2, y: y + 20, class: "small faint" }, inIsr ? "ISR" : t("partitions.out")),
    s("rect", { class: "rest", x: start, y: y + 3, width: Math.max(0, end - start), height: 8 }),
    s("rect", { class: "safe", x: start, y: y + 3, width: Math.max(0, hw - start), height: 8 }),
    MARKS.map((each) => mark(each, replica, x, y)),
    s("text", { x: 350, y: y + 11, class: "small" }, `${known(replica.highWatermark)} / ${known(replica.logEnd)}`));
}

function segments(partition, x, y) {
  const end = Math.max(...(partition.replicas ?? []).filter((each) => each.local).map((each) => each.logEnd ?? 0), 0);
  return (partition.segments ?? []).map((each) => {
    const from = x(each.base), to = Math.max(from + 3, x(each.active ? Math.max(end, each.end) : each.end + 1));
    return s("g", { class: `segment ${each.active ? "active" : ""}`, role: "button", tabindex: -1, "data-item": "",
      "data-act": "batch", "data-arg": JSON.stringify([partition.topic, partition.partition, each.base]),
      "aria-label": t("partitions.openSegment", { base: each.base, end: each.end, bytes: each.bytes }) },
      s("title", {}, t("partitions.openSegment", { base: each.base, end: each.end, bytes: count(each.bytes) })),
      s("rect", { x: from, y, width: to - from - 1, height: 14, rx: 2 }),
      (each.index ?? []).map((entry) => {
        const offset = typeof entry === "object" ? entry.offset : entry;
        return s("path", { class: "tick", d: `M${x(offset)} ${y + 14}v7` });
      }));
  });
}

function one(partition) {
  const replicas = (partition.replicas ?? []).map(asKnown);
  const x = scale({ ...partition, replicas });
  const y = 22 + replicas.length * 34;
  const id = `${partition.topic}-${partition.partition}`;
  const isr = (partition.isr ?? []).join(", ");
  const leader = replicas.find((each) => each.broker === partition.leader) ?? replicas[0] ?? {};
  const open = (offset) => JSON.stringify([partition.topic, partition.partition, Number(offset)]);
  return h("section", { class: "card", "data-key": id },
    h("h2", {}, short(id, 60)),
    h("p", { class: "faint" }, t("partitions.facts", { leader: partition.leader ?? "–",
      epoch: partition.leaderEpoch ?? "–", isr: isr || "–" })),
    s("svg", { class: "rulers", viewBox: `0 0 400 ${y + 26}`, role: "group", "aria-label": id },
      replicas.map((each, i) => ruler(each, partition, x, i)), segments(partition, x, y)),
    h("form", { class: "filters", "data-form": "batch", "data-arg": open(0) },
      h("label", {}, `${t("partitions.offset")} `, h("input", { name: "offset", type: "number", min: 0, size: 8,
        value: Math.max(leader.logStart ?? 0, (leader.logEnd ?? 1) - 1), "data-keep": "" })),
      h("button", { type: "submit" }, t("partitions.open"))));
}

/** The view. */
export function render(store) {
  const all = store.state.partitions ?? [];
  const topics = [...new Set(all.map((each) => each.topic))].sort();
  const shown = all.filter((each) => !choice.topic || each.topic === choice.topic);
  return [h("h1", {}, t("view.partitions")),
    h("p", {}, name("Partition._maybe_increment_leader_hw"), " ", name("Log.append_as_leader"), " ",
      name("LogSegment.append"), " ", name("OffsetIndex.lookup")),
    h("form", { class: "filters", "data-form": "none" }, h("label", {}, `${t("filter.topic")} `,
      h("select", { "data-choose": "topic" }, h("option", { value: "" }, t("partitions.all")),
        topics.map((topic) => h("option", { value: topic, selected: topic === choice.topic }, short(topic, 50)))))),
    h("p", { class: "legend" }, MARKS.map((each) => h("span", {}, h("i", { class: `key m-${each}` }),
      t(`mark.${each}`))), h("span", {}, h("i", { class: "key tickkey" }), t("partitions.tick"))),
    shown.length ? h("div", { class: "cards" }, shown.slice(0, 40).map(one)) : h("p", { class: "faint" }, t("nothing"))];
}

function leaves(fields, depth = 0) {
  return fields.flatMap((field) => [{ ...field, depth }, ...leaves(field.children ?? [], depth + 1)]);
}

/** A batch: its bytes left, its fields right; each byte knows the innermost field it belongs to. */
export function batch(told, topic, partition) {
  const bytes = told.hex.replace(/\s/g, "").match(/../g) ?? [];
  const fields = leaves(told.fields ?? []);
  const owner = new Array(bytes.length).fill(-1);
  fields.forEach((field, i) => owner.fill(i, field.start, field.end));
  const rows = [];
  for (let at = 0; at < bytes.length && at < 4096; at += 16) {
    rows.push(h("div", { class: "hexrow" }, h("span", { class: "faint" }, at.toString(16).padStart(4, "0")), " ",
      bytes.slice(at, at + 16).map((byte, i) => h("span", { class: `byte f${owner[at + i] % 2}`,
        "data-field": owner[at + i] }, byte))));
  }
  return [h("h2", {}, t("batch.title", { partition: short(`${topic}-${partition}`, 50), offset: told.offset })),
    h("p", { class: "faint" }, t("batch.bytes", { n: count(bytes.length) }), " ", name("DefaultRecordBatch")),
    h("div", { class: "bytes" }, h("div", { class: "hex", tabindex: 0, role: "region", "aria-label": "hex" }, rows),
      h("ul", { class: "fields" }, fields.map((field, i) => h("li", { "data-field": i },
        h("button", { type: "button", class: `link d${Math.min(6, field.depth)}`, "data-act": "field",
          "data-item": "", "data-arg": i }, h("b", {}, field.name), field.value === null || field.value === undefined
          ? "" : ` ${short(typeof field.value === "object" ? JSON.stringify(field.value) : field.value, 80)}`,
        h("small", { class: "faint" }, ` ${field.start}–${field.end}`))))))];
}
