// Consumer groups and transactions: their states, members and timers.

import { h, s, name, short, duration, table, row } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "groups", "transactions"];

const GROUP_STATES = ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"];
const TXN_STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"];

const path = (states, now) => h("ol", { class: "path", "aria-label": now },
  states.map((state) => h("li", { class: state === now ? "now" : "", "aria-current": state === now ? "step" : null },
    state)));

/** How much of its time a timer has left. */
function timer(left, whole) {
  const share = whole > 0 ? Math.max(0, Math.min(1, left / whole)) : 0;
  return s("svg", { class: "timer", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img",
    "aria-label": duration(left * 1000) }, s("rect", { class: "back", width: 100, height: 8 }),
  s("rect", { class: share < 0.2 ? "late" : "left", width: (share * 100).toFixed(1), height: 8 }));
}

function member(each, leader) {
  const left = each.deadlineMs ?? 0;
  return row([h("span", {}, each.id === leader ? "★ " : "", short(each.id, 40)), short(each.client, 24),
    short(each.host, 20), short((each.partitions ?? []).join(", "), 48),
    h("span", { class: "timed" }, timer(left, each.sessionMs), ` ${duration(left * 1000)}`)]);
}

function group(each) {
  const heads = ["member", "client", "host", "partitions", "deadline"].map((head) => t(`groups.${head}`));
  return h("section", { class: "card whole", "data-key": `g ${each.id}`, "data-group": each.id },
    h("h2", {}, short(each.id, 60)), path(GROUP_STATES, each.state),
    h("p", {}, t("groups.facts", { generation: each.generation ?? "–", protocol: each.protocol ?? "–",
      offsets: (each.offsets ?? []).length }), " ", name("GroupCoordinator.handle_join_group"), " ",
    name("GroupMetadata.transition_to")),
    each.members?.length ? table(t("groups.members", { n: each.members.length }), heads,
      each.members.map((one) => member(one, each.leader))) : h("p", { class: "faint" }, t("groups.noMembers")));
}

function transaction(each) {
  return h("section", { class: "card whole", "data-key": `t ${each.id}` },
    h("h2", {}, short(each.id, 60)), path(TXN_STATES, each.state),
    h("p", {}, t("txn.facts", { producer: each.producerId, epoch: each.epoch,
      partitions: short((each.partitions ?? []).join(", ") || "–", 60), timeout: duration((each.timeoutMs ?? 0) * 1000) }),
    " ", name("TransactionCoordinator.handle_end_transaction")));
}

/** The view. */
export function render(store) {
  const groups = store.state.groups ?? [], transactions = store.state.transactions ?? [];
  return [h("h1", {}, t("view.groups")),
    groups.length ? h("div", { class: "cards" }, groups.map(group)) : h("p", { class: "faint" }, t("groups.none")),
    h("h2", {}, t("txn.title")),
    transactions.length ? h("div", { class: "cards" }, transactions.map(transaction))
      : h("p", { class: "faint" }, t("txn.none"))];
}
