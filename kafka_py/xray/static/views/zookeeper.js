// The ZooKeeper tree, what is in its nodes, and who watches which.

import { h, name, short, count } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "zookeeper"];

const marks = (node) => [node.ephemeral ? h("span", { class: "tag" }, t("zk.ephemeral")) : null,
  node.watched ? h("span", { class: "tag watchtag" }, `${t("zk.watched")}${
    typeof node.watched === "object" ? ` ${[node.watched].flat().join(", ")}` : ""}`) : null];

function branch(node, path, depth) {
  const children = node.children ?? [];
  const own = `${path === "/" ? "" : path}/${node.name === "/" ? "" : node.name}`.replace(/^\/\//, "/") || "/";
  const label = [h("b", {}, short(node.name || "/", 60)), " ", marks(node),
    node.data ? h("code", {}, short(node.data, 160)) : null];
  if (!children.length) return h("li", { "data-key": own }, h("div", { class: "leaf" }, label));
  return h("li", { "data-key": own }, h("details", { open: depth < 2 },
    h("summary", { "data-item": "" }, label, h("span", { class: "faint" }, ` ${children.length}`)),
    h("ul", {}, children.slice(0, 300).map((child) => branch(child, own, depth + 1)))));
}

function watches(all) {
  const list = Array.isArray(all) ? all : Object.entries(all ?? {}).map(([path, who]) => ({ path, who }));
  if (!list.length) return h("p", { class: "faint" }, t("nothing"));
  return h("ul", { class: "plain" }, list.slice(0, 200).map((each) => h("li", {},
    h("b", {}, short(each.path ?? each, 70)), " ", short([each.who ?? each.by ?? each.kind ?? ""].flat().join(", "), 80))));
}

/** The view. */
export function render(store) {
  const zookeeper = store.state.zookeeper ?? {};
  const all = zookeeper.watches;
  const n = typeof all === "number" ? all : Array.isArray(all) ? all.length : Object.keys(all ?? {}).length;
  return [h("h1", {}, t("view.zookeeper")),
    h("p", {}, name("KafkaZkClient"), " ", name("ZooKeeperClient.handle_requests")),
    h("div", { class: "two" },
      h("section", { class: "card" }, zookeeper.tree ? h("ul", { class: "tree" }, branch(zookeeper.tree, "/", 0))
        : h("p", { class: "faint" }, t("nothing"))),
      h("section", { class: "card" }, h("h2", {}, t("zk.watches", { n: count(n) })),
        typeof all === "number" ? null : watches(all)))];
}
