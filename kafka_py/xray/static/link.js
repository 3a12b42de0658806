// The ways to the broker: snapshots, the stream of events, and commands with the token.

const TOKEN = "xray.token";

/** The token of the printed link; kept for this tab, taken out of the address. */
export function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given) {
    fragment.delete("token");
    history.replaceState(null, "", `#${fragment}`);
    try { sessionStorage.setItem(TOKEN, given); } catch { /* private mode: good until the page is loaded again */ }
    return given;
  }
  try { return sessionStorage.getItem(TOKEN) ?? ""; } catch { return ""; }
}

export class Link {
  constructor(token) {
    this.token = token;
    this.base = new URL("./", location.href.split("#")[0]);
    this.source = null;
  }

  /** Talk to another broker of the lab. */
  choose(base) {
    const given = base.endsWith("/") ? base : `${base}/`;
    this.base = new URL(given, location.href.split("#")[0]);
  }

  async get(path, base = this.base) {
    const answer = await fetch(new URL(path, base), { cache: "no-store" });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error ?? `${answer.status}`);
    return body;
  }

  async post(path, body, base = this.base) {
    const answer = await fetch(new URL(path, base), {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Xray-Token": this.token },
      body: JSON.stringify(body ?? {}),
    });
    const told = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(told.error ?? `${answer.status}`);
    return told;
  }

  /** Follow the events after this id; the browser resumes by Last-Event-ID. */
  follow(after, { batch, state }) {
    this.source?.close();
    const url = new URL("events", this.base);
    url.searchParams.set("after", after);
    const source = new EventSource(url);
    source.addEventListener("batch", (message) => batch(JSON.parse(message.data)));
    source.addEventListener("open", () => state(true));
    source.addEventListener("error", () => state(false));
    this.source = source;
  }
}
