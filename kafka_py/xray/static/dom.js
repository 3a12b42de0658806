// Elements without a framework. Views build a fresh tree from the state; `morph` makes the page equal to it and keeps
// every element that may stay, so focus, scrolling and transitions survive. Data becomes text nodes only.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-") || typeof value !== "boolean") node.setAttribute(name, String(value));
    else if (value) node.setAttribute(name, "");
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** An HTML element; children are nodes or become text. */
export const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

/** An SVG element; children are nodes or become text. */
export const s = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

const key = (node) => node.nodeType === 1 ? node.getAttribute("data-key") : null;
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);

function morphAttributes(old, made) {
  for (const { name } of [...old.attributes]) {
    if (made.hasAttribute(name) || (name === "open" && old.nodeName === "DETAILS")) continue;
    if (name === "tabindex" && old.hasAttribute("data-item")) continue;
    if (!name.startsWith("data-keep")) old.removeAttribute(name);
  }
  for (const { name, value } of [...made.attributes]) {
    if (name === "open" && old.nodeName === "DETAILS") continue;
    if (name === "tabindex" && made.hasAttribute("data-item") && old.hasAttribute("tabindex")) continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** Make `old` what `made` is; fields keep what was typed into them. */
export function morph(old, made) {
  if (old.nodeType === 3) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  morphAttributes(old, made);
  if (old.hasAttribute("data-own")) return; // its owner fills it
  morphChildren(old, [...made.childNodes]);
}

/** Make the children of `parent` these nodes. */
export function morphChildren(parent, wanted) {
  const keyed = new Map([...parent.children].filter(key).map((node) => [key(node), node]));
  let at = parent.firstChild;
  for (const made of wanted.flat(Infinity).filter(Boolean)) {
    let old = key(made) ? keyed.get(key(made)) : at;
    if (old && !alike(old, made)) old = null;
    if (!old || (!key(made) && key(old))) {
      parent.insertBefore(made, at);
      continue;
    }
    if (old !== at) parent.insertBefore(old, at);
    else at = at.nextSibling;
    morph(old, made);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** The name of a class or method: a click opens its source. */
export const name = (text, label = text) =>
  h("button", { type: "button", class: "name", "data-item": "", "data-act": "source", "data-arg": text }, label);

/** The same inside a drawing. */
export const svgName = (text, attributes, label = text) =>
  s("text", { class: "name", role: "button", "data-item": "", tabindex: -1, "data-act": "source", "data-arg": text,
    ...attributes }, label);

/** Milliseconds or microseconds for people. */
export function duration(us) {
  if (us === null || us === undefined || Number.isNaN(us)) return "–";
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 1 : 0)} s`;
}

export const count = (n) => n === null || n === undefined ? "–" : Number(n).toLocaleString("en").replaceAll(",", " ");

/** Cut a text that may be as long as its sender liked. */
export const short = (text, most = 40) => {
  const whole = String(text ?? "");
  return whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
};

/** A table with a caption; rows are lists of cells. */
export const table = (caption, heads, rows, attributes = {}) =>
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", attributes, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows)));

export const row = (cells, attributes = {}) => h("tr", attributes, cells.map((cell) => h("td", {}, cell)));
