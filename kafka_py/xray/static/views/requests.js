// Requests: the six parts of each one's time, filters, and which follower's fetch completed an acks=-1 produce.

import { h, s, name, short, duration } from "../dom.js";
import { t } from "../words.js";
import { PARTS, parts, completedBy } from "../store.js";
import { colour } from "./reactor.js";

export const sections = ["broker", "requests"];
export const filters = { api: "", client: "", topic: "" };
const SHOWN = 80;

const has = (text, wanted) => String(text ?? "").toLowerCase().includes(wanted.toLowerCase());

/** Of a request that was on its way when the page came, the end alone says nothing. */
const known = (request) => request.api || !request.ended;

const wanted = (request) => known(request) && has(request.api, filters.api) && has(request.clientId, filters.client)
  && (!filters.topic || (request.topics ?? []).some((topic) => has(topic, filters.topic)));

/** A stacked bar of the parts; `whole` is the µs of the full width. */
export function bar(request, whole) {
  const six = parts(request);
  const told = PARTS.map((part) => `${t(`part.${part}`)} ${duration(six[part])}`).join(", ");
  let x = 0;
  const rects = PARTS.map((part) => {
    const width = whole ? Math.min(100 - x, 100 * (six[part] ?? 0) / whole) : 0;
    const drawn = s("rect", { class: `p-${part}`, x, y: 0, width: Math.max(0, width), height: 10 },
      s("title", {}, `${t(`part.${part}`)} ${duration(six[part])}`));
    x += width;
    return drawn;
  });
  return s("svg", { class: "parts", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img",
    "aria-label": told }, rects);
}

export const total = (request) => PARTS.reduce((sum, part) => sum + (parts(request)[part] ?? 0), 0);

/** "follower 2, Fetch #31" or the thread's name. */
export function whoCompleted(by) {
  if (!by) return "";
  if (typeof by === "string") return by;
  if (by.follower !== undefined) return t("requests.byFollower", { follower: by.follower, id: by.id ?? "?" });
  return by.thread ?? (by.id !== undefined ? `#${by.id}` : "");
}

function line(request, whole) {
  const by = whoCompleted(completedBy(request));
  return h("tr", { "data-key": `r ${request.id}`, "data-api": request.api ?? "" },
    h("td", {}, h("button", { type: "button", class: "link", "data-item": "", "data-act": "request",
      "data-arg": request.id }, h("i", { class: `key dotkey ${colour(request.api ?? "")}` }),
    `${request.api ?? "?"} v${request.version ?? "?"}`)),
    h("td", {}, short(request.clientId, 28)),
    h("td", {}, short((request.topics ?? []).join(", "), 28)),
    h("td", { class: "wide" }, bar(request, whole)),
    h("td", { class: "number" }, duration(total(request))),
    h("td", {}, request.ended ? by : h("b", {}, request.where ?? "")));
}

const field = (which) => h("label", {}, `${t(`filter.${which}`)} `, h("input", { type: "search", "data-filter": which,
  "data-key": which, size: 12, autocomplete: "off", spellcheck: "false" }));

/** The view. */
export function render(store) {
  const found = [...store.requests.values()].filter(wanted).reverse().slice(0, SHOWN);
  const whole = Math.max(1, ...found.map(total));
  const heads = ["api", "client", "topic", "parts", "total", "by"].map((each) => h("th", { scope: "col" },
    t(`requests.${each}`)));
  return [h("h1", {}, t("view.requests")),
    h("form", { class: "filters", "data-form": "none" }, ["api", "client", "topic"].map(field)),
    h("p", { class: "legend" }, PARTS.map((part) => h("span", {}, h("i", { class: `key p-${part}` }),
      t(`part.${part}`)))),
    found.length ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("view.requests") },
      h("table", { class: "requests" }, h("thead", {}, h("tr", {}, heads)),
        h("tbody", {}, found.map((request) => line(request, whole)))))
      : h("p", { class: "faint" }, t("requests.none"))];
}

/** One request whole: what it is, its parts, each hand-over with its thread and method. */
export function detail(request) {
  const six = parts(request), whole = Math.max(1, total(request));
  const first = request.steps[0]?.us ?? 0;
  const facts = [["API", `${request.api ?? "?"} v${request.version ?? "?"}`], [t("filter.client"), request.clientId],
    [t("detail.connection"), request.connection], [t("detail.correlation"), request.correlationId],
    [t("filter.topic"), (request.topics ?? []).join(", ")], [t("requests.by"), whoCompleted(completedBy(request))]];
  return [h("h2", {}, `${request.api ?? "?"} ${String(request.id).startsWith("j ") ? "" : `#${request.id}`}`),
    h("dl", {}, facts.filter(([, value]) => value !== undefined && value !== "").map(([what, value]) =>
      [h("dt", {}, what), h("dd", {}, short(value, 120))])),
    bar(request, whole),
    h("dl", { class: "six" }, PARTS.map((part) => [h("dt", {}, h("i", { class: `key p-${part}` }), t(`part.${part}`)),
      h("dd", {}, duration(six[part]))])),
    h("ol", { class: "steps" }, request.steps.map((step) => h("li", {}, h("b", {}, step.kind), " ",
      h("span", { class: "faint" }, `+${duration(step.us - first)}`), " ", step.method ? name(step.method) : null,
      h("br"), h("small", {}, short(step.thread, 60), step.purgatory ? ` · ${step.purgatory}` : "",
        step.by ? ` · ${t("requests.by")} ${whoCompleted(step.by)}` : ""))))];
}
