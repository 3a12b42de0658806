// The bar above every view: hold, step, resume, slow motion, the clock, schedules, faults.

import { h, short } from "./dom.js";
import { t } from "./words.js";

const POINTS = ["accept", "receive", "request-queue", "handle", "append", "watch", "complete", "expire",
  "response-queue", "respond", "send", "fetch", "controller-event", "controller-send", "timer-tick", "group", "transaction",
  "isr", "high-watermark", "zookeeper"];

const button = (act, label, { off = false, ...more } = {}) =>
  h("button", { type: "button", "data-act": act, disabled: off, ...more }, label);

/** Why the controls cannot be used, or null. */
export function refusal(store, link) {
  if (store.broker.mode !== "step") return t("bar.noStep", { mode: store.broker.mode ?? "?" });
  return link.token ? null : t("bar.noToken");
}

function holdBy(off) {
  const field = (key) => h("label", {}, `${t(`filter.${key}`)} `, h("input", { name: key, size: 10,
    autocomplete: "off", spellcheck: "false", "data-keep": "" }));
  return h("details", { class: "menu", "data-key": "holdby" }, h("summary", {}, t("bar.holdBy")),
    h("form", { "data-form": "hold", class: "pop" }, ["api", "client", "topic", "thread"].map(field),
      h("fieldset", {}, h("legend", {}, t("bar.points")), POINTS.map((point) => h("label", {}, h("input", {
        type: "checkbox", name: "points", value: point, "data-keep": "" }), point))),
      h("button", { type: "submit", disabled: off }, t("bar.hold"))));
}

function faultMenu(cluster, off) {
  if (!cluster.lab && !cluster.faults?.length) return null;
  return h("details", { class: "menu", "data-key": "faults" }, h("summary", {}, t("bar.faults")),
    h("div", { class: "pop faults" }, (cluster.faults ?? []).map((fault) => h("form", { "data-form": "fault",
      "data-arg": fault.name, "data-key": fault.name }, h("button", { type: "submit", disabled: off }, fault.name),
    argumentsOf(fault).map((each) => h("label", {}, `${each} `, h("input", { name: each, size: 7, "data-keep": "",
      autocomplete: "off" }))), h("small", {}, short(fault.help, 160))))));
}

const argumentsOf = (fault) => (Array.isArray(fault.arguments) ? fault.arguments : Object.keys(fault.arguments ?? {}))
  .map((each) => typeof each === "object" ? each.name : each);

function slow(store, off) {
  const now = Math.round(1 / (store.broker.rate || 1));
  return h("label", {}, `${t("bar.slow")} `, h("select", { "data-choose": "slow", disabled: off },
    [1, 10, 100, 1000].map((factor) => h("option", { value: factor, selected: factor === now }, `1:${factor}`))));
}

function told(store, reason) {
  const held = store.held.length;
  const parts = [store.live ? t("bar.live") : t("bar.cut"), t("bar.rate", { n: store.perSecond() })];
  if (held) parts.push(t("bar.held", { n: held }));
  if (store.dropped) parts.push(t("bar.dropped", { n: store.dropped }));
  if (store.busy.length) parts.push(t("bar.busy", { what: store.busy.join(", ") }));
  return h("p", { class: "told" }, h("i", { class: `key ${store.live ? "on" : "off"}` }), parts.join(" · "),
    reason ? h("span", { class: "faint" }, ` · ${reason}`) : null,
    (store.broker.limits ?? []).map((each) => h("span", { class: "faint" }, ` · ${short(each, 160)}`)));
}

/** The bar. */
export function bar(store, link, ui) {
  const reason = refusal(store, link), off = reason !== null;
  const holding = ui.holding || store.held.length > 0;
  return [h("div", { class: "buttons" },
    button("hold", t("bar.holdAll"), { off, "aria-pressed": holding }), holdBy(off),
    button("step", t("bar.step"), { off: off || !holding, title: "n" }),
    button("resume", t("bar.resume"), { off: off || !holding, class: holding ? "primary" : null }),
    slow(store, off),
    h("form", { "data-form": "advance" }, h("label", {}, `${t("bar.advance")} `, h("input", { name: "ms", type: "number",
      min: 1, value: 1000, size: 6, "data-keep": "" }), " ms "), h("button", { type: "submit", disabled: off || !holding },
    t("bar.go"))),
    button("record", ui.recording ? t("bar.save") : t("bar.record"), { off, "aria-pressed": ui.recording }),
    h("a", { class: "button", href: new URL("trace.json", link.base).href, download: "trace.json" }, "trace.json"),
    faultMenu(ui.cluster, !link.token), ui.cluster.labs ? button("labs", t("bar.labs")) : null), told(store, reason)];
}

/** A rule of the form: empty fields hold anything. */
export function rule(form) {
  const data = new FormData(form), points = data.getAll("points");
  const text = (name) => String(data.get(name) ?? "").trim() || null;
  return { points: points.length ? points : null, thread: text("thread"), api: text("api"), client: text("client"),
    topic: text("topic") };
}

/** The labs: which there are, what the one that runs asks, its buttons and what its last check found. */
export function labs(board, told, language, off) {
  const running = board.labs.find((each) => each.number === board.running);
  const result = told?.result ?? board.last;
  const title = (each) => each.title[language] ?? each.title.en;
  return [h("h2", {}, t("labs.title", { n: running.number, title: title(running) })),
    h("div", { class: "buttons" }, button("lab-check", t("labs.check"), { off }),
      button("lab-hint", t("labs.hint"), { off }), off ? h("span", { class: "faint" }, t("bar.noToken")) : null),
    (told?.said ?? []).map((line) => h("p", { class: "card" }, line)),
    result ? findings(result) : null,
    h("pre", { class: "sheet", tabindex: 0 }, board.sheets[language] ?? board.sheets.en),
    h("h3", {}, t("labs.all")), h("ol", { class: "plain" }, board.labs.map((each) => h("li", {},
      each.passed ? "✓ " : "· ", h("b", {}, `${each.number} ${title(each)}`), " ",
      h("span", { class: "faint" }, `${each.minutes} min · ${each.kinds.join(", ")}`))))];
}

const findings = ({ checks, passed }) => h("section", { class: "card", role: "status" },
  h("h3", {}, passed ? t("labs.passed") : t("labs.good", { n: checks.filter((each) => each.good).length,
    all: checks.length })),
  h("ul", { class: "plain" }, checks.map((each) => h("li", {}, each.good ? "✓ " : "✗ ", h("b", {}, each.text),
    each.why && !each.good ? `: ${each.why}` : ""))));

/** The source beside its Scala place. */
export function source(told, name, base) {
  const lines = String(told.text ?? "").replace(/\n$/, "").split("\n");
  const scala = told.scala ?? null;
  const safe = scala && /^https?:\/\//.test(scala.url ?? "") ? scala.url : null;
  return [h("h2", {}, name), h("p", { class: "places" }, h("code", {}, `${told.file}:${told.line}`),
    scala ? h("span", {}, " ↔ Scala ", safe ? h("a", { href: safe, target: "_blank", rel: "noopener noreferrer" },
      `${scala.path} @ ${scala.version}`) : h("code", {}, `${scala.path} @ ${scala.version}`))
      : h("span", { class: "faint" }, ` · ${t("source.ours")}`),
    told.sideBySide ? h("span", {}, " · ", h("a", { href: new URL(told.sideBySide, base).href, target: "_blank",
      rel: "noopener noreferrer" }, t("source.sideBySide"))) : null),
  h("pre", { class: "source", tabindex: 0 }, lines.map((line, i) => h("span", { class: "line" },
    h("i", { class: "faint" }, String((told.line ?? 1) + i).padStart(5)), ` ${line}\n`)))];
}

