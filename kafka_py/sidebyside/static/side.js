// The words of the page in both languages, and the search over all members. No data is ever made HTML.
const WORDS = {
  en: { title: "Apache Kafka and kafka_py, side by side", intro: "Each file of Apache Kafka that has a counterpart here: the original on the left, ours on the right, member by member.",
    file: "file", all: "all", same: "here", differs: "differs, and says how", "left-out": "left out, with the reason", unsaid: "not here", ours: "Ours beyond it",
    search: "Class.member   ( / )", language: "简体中文" },
  zh: { title: "Apache Kafka 与 kafka_py 对照", intro: "每个在这里有对应的 Apache Kafka 文件：左边是原文，右边是我们的，一个成员一个成员地排开。",
    file: "文件", all: "合计", same: "有对应", differs: "有不同，并已说明", "left-out": "略去，附原因", unsaid: "这里没有", ours: "我们另有的",
    search: "类名.成员   ( / )", language: "English" },
};
let language = localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
const search = document.getElementById("search"), found = document.getElementById("found"), button = document.getElementById("language");

function speak() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = WORDS[language][element.dataset.t];
  search.placeholder = WORDS[language].search;
  search.setAttribute("aria-label", WORDS[language].search);
  button.textContent = WORDS[language].language;
}

function show() {
  const wanted = search.value.toLowerCase().replaceAll("_", "");
  const fits = wanted.length < 2 ? [] : Object.keys(PLACES).filter((name) => name.toLowerCase().replaceAll("_", "").includes(wanted));
  fits.sort((a, b) => a.length - b.length);
  found.replaceChildren(...fits.slice(0, 60).map((name) => {
    const link = Object.assign(document.createElement("a"), { href: PLACES[name], textContent: name });
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  found.hidden = fits.length === 0;
}

button.addEventListener("click", () => { language = language === "zh" ? "en" : "zh"; localStorage.setItem("language", language); speak(); });
search.addEventListener("input", show);
search.addEventListener("keydown", (event) => { if (event.key === "Enter") found.querySelector("a")?.click(); });
found.addEventListener("click", () => { found.hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape") { found.hidden = true; search.blur(); }
});
speak();
