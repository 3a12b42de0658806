// Purgatories: who waits for which key, and the timing wheel that will give up on them.

import { h, s, name, short, duration, count } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "purgatories"];

const at = (angle, radius) => [100 + radius * Math.sin(angle), 100 - radius * Math.cos(angle)].map((n) => n.toFixed(2));

function bucket(n, size, inner, outer, filled, current) {
  const a = 2 * Math.PI * n / size, b = 2 * Math.PI * (n + 0.9) / size;
  const [x1, y1] = at(a, outer), [x2, y2] = at(b, outer), [x3, y3] = at(b, inner), [x4, y4] = at(a, inner);
  return s("path", { class: `bucket ${filled ? "filled" : ""} ${current ? "now" : ""}`,
    d: `M${x1} ${y1}A${outer} ${outer} 0 0 1 ${x2} ${y2}L${x3} ${y3}A${inner} ${inner} 0 0 0 ${x4} ${y4}z` },
  s("title", {}, t("wheel.bucket", { n, count: filled })));
}

function level(one, i, levels, wheel) {
  const thick = Math.min(26, 78 / levels), outer = 96 - i * thick;
  const current = Math.floor((one.current ?? 0) / (one.intervalMs / wheel.size || wheel.tickMs)) % wheel.size;
  return s("g", {}, one.buckets.map((filled, n) => bucket(n, one.buckets.length, outer - thick + 4, outer, filled,
    n === current)));
}

function circles(purgatory) {
  const wheel = purgatory.wheel;
  if (!wheel?.levels?.length) return h("p", { class: "faint" }, t("nothing"));
  const told = t("wheel.told", { tick: wheel.tickMs, size: wheel.size, levels: wheel.levels.length });
  return h("figure", {}, s("svg", { class: "wheel", viewBox: "0 0 200 200", role: "img", "aria-label": told },
    wheel.levels.map((one, i) => level(one, i, wheel.levels.length, wheel)),
    s("text", { x: 100, y: 104, "text-anchor": "middle", class: "label" }, count(purgatory.delayed))),
  h("figcaption", {}, told, " ", name("TimingWheel.add"), " ", name("SystemTimer.advance_clock")));
}

function operation(each) {
  const request = each.request?.id ?? each.request;
  const text = t("purgatory.operation", { id: request !== undefined && request !== null ? `#${request}` : each.what ?? each.id, expires: duration((each.expiresMs ?? 0) * 1000) });
  return h("li", {}, request === undefined || request === null ? text
    : h("button", { type: "button", class: "link", "data-item": "", "data-act": "request", "data-arg": request }, text));
}

function one(purgatory) {
  return h("section", { class: "card", "data-key": purgatory.name },
    h("h2", {}, purgatory.name),
    h("p", {}, t("purgatory.counts", { watched: count(purgatory.watched), delayed: count(purgatory.delayed) }), " ",
      name("DelayedOperationPurgatory.check_and_complete")),
    circles(purgatory),
    h("ul", { class: "watch" }, (purgatory.keys ?? []).slice(0, 60).map((each) => h("li", {},
      h("b", {}, short(typeof each.key === "object" ? JSON.stringify(each.key) : each.key, 48)),
      h("ul", {}, (each.operations ?? []).slice(0, 20).map(operation))))));
}

/** The view. */
export function render(store) {
  const all = store.state.purgatories ?? [];
  return [h("h1", {}, t("view.purgatories")),
    all.length ? h("div", { class: "cards" }, all.map(one)) : h("p", { class: "faint" }, t("nothing"))];
}
