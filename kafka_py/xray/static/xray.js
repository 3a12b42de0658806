// The page: which broker, which view, which language; keys, clicks and the loop that draws.

import { h, morphChildren, short } from "./dom.js";
import { t, speak, preferred, language, LANGUAGES } from "./words.js";
import { Store } from "./store.js";
import { Link, takeToken } from "./link.js";
import * as controls from "./controls.js";
import * as reactor from "./views/reactor.js";
import * as requests from "./views/requests.js";
import * as partitions from "./views/partitions.js";
import * as purgatories from "./views/purgatories.js";
import * as controller from "./views/controller.js";
import * as groups from "./views/groups.js";
import * as zookeeper from "./views/zookeeper.js";
import * as cluster from "./views/cluster.js";

const VIEWS = { reactor, requests, partitions, purgatories, controller, groups, zookeeper, cluster };
const POLL_MS = 1000;
const FRAME_MS = 100;

const link = new Link(takeToken());
const store = new Store();
const dots = new reactor.Dots(store);
const ui = { view: "reactor", broker: null, cluster: { brokers: [] }, holding: false, recording: false, panel: null,
  drawn: "", dirty: true };
const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

const say = (text) => { $("say").textContent = text; };
const remember = (what, value) => { try { localStorage.setItem(what, value); } catch { /* private mode */ } };
const remembered = (what) => { try { return localStorage.getItem(what); } catch { return null; } };

// ---- drawing

function top() {
  const broker = store.broker;
  const brokers = ui.cluster.brokers ?? [];
  return [h("strong", { class: "brand" }, "X-ray"),
    brokers.length > 1 ? h("label", {}, `${t("top.broker")} `, h("select", { "data-choose": "broker" },
      brokers.map((each) => h("option", { value: each.id, selected: String(each.id) === String(ui.broker) }, each.id))))
      : h("span", {}, broker.id === undefined ? "" : t("partitions.broker", { id: broker.id })),
    h("span", { class: "faint" }, short([broker.host && `${broker.host}:${broker.port}`, broker.version,
      broker.mode && `kafka.py.xray=${broker.mode}`, broker.form].filter(Boolean).join(" · "), 90)),
    h("span", { class: "grow" }),
    h("select", { "data-choose": "language", "aria-label": t("top.language") }, Object.entries(LANGUAGES).map(
      ([code, label]) => h("option", { value: code, selected: code === language }, label))),
    h("button", { type: "button", "data-act": "theme", title: "d" }, t("top.theme")),
    h("button", { type: "button", "data-act": "projector", title: "p",
      "aria-pressed": document.documentElement.classList.contains("projector") }, t("top.projector")),
    h("button", { type: "button", "data-act": "help", title: "?", "aria-label": t("help.title") }, "?")];
}

const tabs = () => [h("div", { role: "tablist", "aria-label": t("top.views") }, Object.keys(VIEWS).map((view, i) =>
  h("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-selected": view === ui.view, "aria-controls": "view",
    tabindex: view === ui.view ? 0 : -1, "data-act": "view", "data-arg": view }, h("small", {}, i + 1), " ",
  t(`view.${view}`))))];

function draw() {
  ui.dirty = false;
  morphChildren($("top"), top());
  morphChildren($("tabs"), tabs());
  morphChildren($("bar"), controls.bar(store, link, ui));
  const view = $("view");
  view.setAttribute("aria-labelledby", `tab-${ui.view}`);
  view.setAttribute("role", "tabpanel");
  if (ui.drawn !== ui.view) view.replaceChildren();
  ui.drawn = ui.view;
  morphChildren(view, VIEWS[ui.view].render(store, { width: width(), holding: ui.holding }));
  roving(view);
  document.title = t("top.title", { view: t(`view.${ui.view}`), id: store.broker.id ?? "" });
  for (const each of document.querySelectorAll("[data-text]")) each.textContent = t(each.dataset.text);
}

/** What a drawing may take: the view without its padding. */
function width() {
  const style = getComputedStyle($("view"));
  return Math.max(300, Math.floor($("view").clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)));
}

/** Of the things arrows go through, one is in the tab order. */
function roving(view) {
  const items = [...view.querySelectorAll("[data-item]")];
  const current = items.find((each) => each.getAttribute("tabindex") === "0") ?? items[0];
  for (const each of items) {
    const wanted = each === current ? "0" : "-1";
    if (each.getAttribute("tabindex") !== wanted) each.setAttribute("tabindex", wanted);
  }
}

function showPanel(nodes, opener) {
  const panel = $("panel");
  if (panel.hidden) ui.opener = opener ?? document.activeElement;
  panel.hidden = false;
  panel.setAttribute("aria-label", t("panel.title"));
  panel.replaceChildren(h("button", { type: "button", class: "close", "data-act": "close", "aria-label": t("panel.close") },
    "×"), ...nodes.flat().filter(Boolean));
  panel.querySelector("button").focus();
  panel.scrollTop = 0;
  ui.dirty = true;
}

function closePanel() {
  $("panel").hidden = true;
  if (ui.opener?.isConnected) ui.opener.focus();
  ui.dirty = true;
}

// ---- what the broker tells

async function poll() {
  const wanted = new Set(["broker", ...VIEWS[ui.view].sections]);
  try {
    const told = await link.get(`state?view=${[...wanted].join(",")}`);
    store.snapshot(told);
    ui.holding = Boolean(told.broker?.holding ?? (ui.holding || store.held.length));
    ui.failed = false;
  } catch (e) {
    if (!ui.failed) say(t("say.unreachable", { why: e.message }));
    ui.failed = true;
  }
  ui.dirty = true;
}

function follow() {
  link.follow(store.lastId, {
    batch: (events) => { store.batch(events); ui.dirty = true; },
    state: (live) => { store.live = live; ui.dirty = true; },
  });
}

async function chooseBroker(id) {
  const found = (ui.cluster.brokers ?? []).find((each) => String(each.id) === String(id));
  ui.broker = id;
  if (found?.base) link.choose(found.base);
  store.clear();
  dots.clear();
  await poll();
  await resumeFrom();
}

/** Start with the events of now: the past of a broker that runs for hours is no news. */
async function resumeFrom() {
  store.lastId = store.broker.lastEvent ?? 0;
  follow();
  try { store.journal((await link.get("requests")).requests ?? []); } catch { /* a broker without journal */ }
  ui.dirty = true;
}

async function command(path, body, base) {
  try {
    const told = await link.post(path, body, base);
    await poll();
    return told;
  } catch (e) {
    say(t("say.refused", { why: e.message }));
    return null;
  }
}

// ---- what one may do

const acts = {
  view: (view) => {
    ui.view = view;
    const fragment = new URLSearchParams(location.hash.slice(1));
    fragment.set("view", view);
    history.replaceState(null, "", `#${fragment}`);
    draw();
    $(`tab-${view}`).scrollIntoView({ block: "nearest", inline: "nearest" });
    return poll();
  },
  hold: async () => {
    ui.holding = true;
    if (!await command("hold", { rules: [{ points: null, thread: null, api: null, client: null, topic: null }] })) {
      ui.holding = false;
    }
  },
  resume: async () => { ui.holding = false; await command("resume", {}); },
  step: (thread) => command("step", thread ? { thread, n: 1 } : { n: 1 }),
  record: async () => {
    if (!ui.recording) {
      ui.recording = await command("schedule/record", {}) !== null;
    } else {
      const schedule = await command("schedule/stop", {});
      ui.recording = false;
      if (schedule) save("schedule.json", schedule);
    }
    ui.dirty = true;
  },
  source: async (name, from) => {
    try {
      showPanel(controls.source(await link.get(`source?name=${encodeURIComponent(name)}`), name, link.base), from);
    } catch (e) { showPanel([h("h2", {}, name), h("p", {}, t("source.none", { why: e.message }))], from); }
  },
  labs: (_, from) => openLabs(null, from),
  "lab-check": (_, from) => pushLab("check", from),
  "lab-hint": (_, from) => pushLab("hint", from),
  request: (id, from) => {
    const found = store.requests.get(Number(id)) ?? store.requests.get(id);
    if (found) showPanel(requests.detail(found), from);
  },
  batch: (where, from) => openBatch(...JSON.parse(where), from),
  field: (i) => mark(i),
  close: closePanel,
  theme: () => setTheme(dark() ? "light" : "dark"),
  projector: () => {
    remember("xray.projector", document.documentElement.classList.toggle("projector") ? "1" : "");
    ui.dirty = true;
  },
  help,
};

const lab = () => new URL("./", location.href.split("#")[0]);

async function openLabs(told, from) {
  try { showPanel(controls.labs(await link.get("labs", lab()), told, language, !link.token), from); }
  catch (e) { say(t("say.refused", { why: e.message })); }
}

/** What the command of that name does; a check may take its time. */
async function pushLab(word, from) {
  from.disabled = true;
  const told = await command(`labs/${word}`, {}, lab());
  if (told) await openLabs(told);
  else from.disabled = false;
}

async function openBatch(topic, partition, offset, from) {
  const query = new URLSearchParams({ topic, partition, offset });
  try { showPanel(partitions.batch(await link.get(`batch?${query}`), topic, partition), from); }
  catch (e) { say(t("say.refused", { why: e.message })); }
}

function save(name, value) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function mark(i) {
  for (const each of document.querySelectorAll("#panel [data-field]")) {
    each.classList.toggle("lit", each.dataset.field === String(i));
  }
}

const forms = {
  none: () => {},
  hold: async (form) => {
    ui.holding = await command("hold", { rules: [controls.rule(form)] }) !== null;
    form.closest("details").open = false;
  },
  advance: (form) => command("advance", { ms: Number(new FormData(form).get("ms")) }),
  batch: (form) => {
    const [topic, partition] = JSON.parse(form.dataset.arg);
    return openBatch(topic, partition, Number(new FormData(form).get("offset")));
  },
  fault: async (form) => {
    const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    const told = await command(`fault/${encodeURIComponent(form.dataset.arg)}`, given, new URL("./", location.href));
    if (told) say(t("say.fault", { name: form.dataset.arg }));
  },
};

const choosers = {
  slow: (value) => command("slow", { factor: Number(value) }),
  language: async (value) => { await speak(value); draw(); },
  broker: chooseBroker,
  topic: (value) => { partitions.choice.topic = value; ui.dirty = true; },
};

function help() {
  const dialog = $("help");
  const keys = ["1 – 8", "← → ↑ ↓", "Enter", "Space", "n", "d", "p", "?", "Esc"];
  dialog.setAttribute("aria-label", t("help.title"));
  dialog.replaceChildren(h("h2", {}, t("help.title")), h("dl", { class: "keys" }, keys.map((key, i) => [
    h("dt", {}, h("kbd", {}, key)), h("dd", {}, t(`help.${i + 1}`))])), h("p", {}, t("help.about")),
  h("form", { method: "dialog" }, h("button", {}, t("panel.close"))));
  if (!dialog.open) dialog.showModal();
}

// ---- light and dark

const dark = () => (document.documentElement.dataset.theme
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  remember("xray.theme", theme);
}

// ---- hands

const typing = (target) => target.matches?.("input, select, textarea, [contenteditable]");

document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-act]");
  if (found && !found.disabled) acts[found.dataset.act]?.(found.dataset.arg, found);
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-form]");
  if (!form) return;
  event.preventDefault();
  forms[form.dataset.form](form);
});
document.addEventListener("change", (event) => {
  const what = event.target.dataset?.choose;
  if (what) choosers[what](event.target.value);
});
document.addEventListener("input", (event) => {
  const which = event.target.dataset?.filter;
  if (which) { requests.filters[which] = event.target.value; ui.dirty = true; }
});
document.addEventListener("mouseover", (event) => {
  const found = event.target.closest?.("#panel [data-field]");
  if (found) mark(found.dataset.field);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  if (event.key === "Escape") return closeAll();
  if (!(event.target instanceof Element) || typing(event.target)) return;
  if (arrow(event) || activate(event)) event.preventDefault();
  else if (keys(event)) event.preventDefault();
});

function closeAll() {
  for (const each of document.querySelectorAll("details.menu[open]")) each.open = false;
  if (!$("panel").hidden) closePanel();
}

/** Arrows go through tabs, or through the things of a view or panel. */
function arrow(event) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!by) return false;
  const tab = event.target.closest("[role=tab]");
  const inside = event.target.closest("[data-item]") ?? (event.target === $("view") ? $("view") : null);
  if (!tab && !inside) return false;
  const all = tab ? [...$("tabs").querySelectorAll("[role=tab]")]
    : [...(event.target.closest("#panel") ?? $("view")).querySelectorAll("[data-item]")];
  const next = all[(all.indexOf(tab ?? inside) + by + all.length) % all.length];
  if (!next) return false;
  for (const each of all) each.setAttribute("tabindex", each === next ? "0" : "-1");
  next.focus();
  if (tab) acts.view(next.dataset.arg);
  return true;
}

/** Enter works on drawn things as on buttons; space is for holding. */
function activate(event) {
  const drawn = event.target.closest("[role=button][data-act]");
  if (!drawn || event.key !== "Enter") return false;
  acts[drawn.dataset.act]?.(drawn.dataset.arg, drawn);
  return true;
}

function keys(event) {
  const able = controls.refusal(store, link) === null;
  if (event.key === " " && !event.target.closest("button, summary, a")) {
    if (able) ui.holding || store.held.length ? acts.resume() : acts.hold();
    return true;
  }
  if (event.key === "n" && able) return acts.step(), true;
  if (event.key === "?") return help(), true;
  if (event.key === "d") return acts.theme(), true;
  if (event.key === "p") return acts.projector(), true;
  const view = Object.keys(VIEWS)[Number(event.key) - 1];
  if (view) return acts.view(view), true;
  return false;
}

// ---- from here on

function frame(now) {
  if (ui.dirty && now - (ui.at ?? 0) >= FRAME_MS) {
    ui.at = now;
    draw();
  }
  dots.animate(now, store, width(), still.matches);
  requestAnimationFrame(frame);
}

async function start() {
  const theme = remembered("xray.theme");
  if (theme) document.documentElement.dataset.theme = theme;
  document.documentElement.classList.toggle("projector", remembered("xray.projector") === "1");
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.get("view") in VIEWS) ui.view = asked.get("view");
  await speak(asked.get("language") ?? preferred());
  try { ui.cluster = await link.get("cluster"); } catch { ui.cluster = { brokers: [] }; }
  const first = ui.cluster.brokers?.[0];
  if (ui.cluster.lab && first) await chooseBroker(first.id);
  else { await poll(); await resumeFrom(); }
  addEventListener("resize", () => { ui.dirty = true; });
  setInterval(poll, POLL_MS);
  requestAnimationFrame(frame);
  document.documentElement.dataset.ready = "1";
}

start();
