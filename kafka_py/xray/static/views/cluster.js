// The cluster: brokers, who leads what, which replicas are in sync, how far groups are behind.

import { h, name, short, count, table, row } from "../dom.js";
import { t } from "../words.js";

export const sections = ["broker", "cluster", "partitions", "controller"];

function leadersOf(cluster, partitions, id) {
  if (cluster.leaders && !Array.isArray(cluster.leaders) && typeof cluster.leaders[id] === "number") {
    return cluster.leaders[id];
  }
  if (Array.isArray(cluster.leaders)) return cluster.leaders.filter((each) => (each.leader ?? each.broker) === id).length;
  return partitions.filter((each) => each.leader === id).length;
}

function broker(each, cluster, partitions, controller) {
  return h("section", { class: `card broker ${each.alive === false ? "dead" : "alive"}`, "data-key": `k${each.id}`,
    "data-broker": each.id, "data-alive": each.alive !== false },
  h("h2", {}, t("partitions.broker", { id: each.id }), controller === each.id ? ` ◆ ${t("cluster.controller")}` : ""),
  h("p", {}, short(`${each.host ?? "?"}:${each.port ?? "?"}`, 50)),
  h("p", {}, each.alive === false ? t("cluster.dead") : t("cluster.leads", { n: leadersOf(cluster, partitions, each.id) })));
}

const leaderOf = (each) => h("span", { "data-leader": each.leader }, each.leader ?? "–");

function leaders(partitions) {
  const heads = [t("cluster.partition"), t("partitions.leader"), t("cluster.epoch"), "ISR"];
  const rows = partitions.slice(0, 200).map((each) => row([short(`${each.topic}-${each.partition}`, 48), leaderOf(each),
    each.leaderEpoch ?? "–", (each.isr ?? []).join(", ")], { "data-key": `${each.topic}-${each.partition}` }));
  return table(t("cluster.leaders"), heads, rows);
}

/** The view. */
export function render(store) {
  const cluster = store.state.cluster ?? {}, controller = store.state.controller?.id;
  const partitions = Array.isArray(cluster.leaders) && cluster.leaders[0]?.topic ? cluster.leaders
    : store.state.partitions ?? [];
  const under = cluster.underReplicated ?? [];
  const lag = cluster.lag ?? [];
  return [h("h1", {}, t("view.cluster")),
    h("p", {}, name("MetadataCache.update_cache"), " ", name("Partition.maybe_shrink_isr"), " ",
      name("ReplicaManager.become_leader_or_follower")),
    h("div", { class: "cards" }, (cluster.brokers ?? []).map((each) => broker(each, cluster, partitions, controller))),
    h("p", { class: under.length || under > 0 ? "bad" : "faint" }, t("cluster.under", { n: under.length ?? under }),
      Array.isArray(under) && under.length ? `: ${short(under.map((each) => typeof each === "object"
        ? `${each.topic}-${each.partition}` : each).join(", "), 200)}` : ""),
    partitions.length ? leaders(partitions) : null,
    lag.length ? table(t("cluster.lag"), [t("cluster.group"), t("cluster.partition"), t("cluster.committed"),
      t("cluster.end"), t("cluster.behind")], lag.slice(0, 200).map((each) => row([short(each.group, 40),
      short(`${each.topic}-${each.partition}`, 40), count(each.committed), count(each.end), count(each.lag)])))
      : h("p", { class: "faint" }, t("cluster.noLag"))];
}
