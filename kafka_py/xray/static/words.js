// The page's sentences in two languages: messages.<language>.json beside this file, the same keys in both.

export const LANGUAGES = { en: "English", zh: "简体中文" };
let words = {};
export let language = "en";

const remembered = (what) => { try { return localStorage.getItem(what); } catch { return null; } };

/** What was chosen last, else what the browser asks for. */
export const preferred = () =>
  remembered("xray.language") ?? ((navigator.languages ?? []).some((each) => /^zh/i.test(each)) ? "zh" : "en");

/** Load a language; English where it cannot be had. */
export async function speak(wanted) {
  language = wanted in LANGUAGES ? wanted : "en";
  const answer = await fetch(new URL(`messages.${language}.json`, import.meta.url));
  words = await answer.json();
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  try { localStorage.setItem("xray.language", language); } catch { /* private mode: nothing is remembered */ }
}

/** The sentence of this key; {names} are filled in. */
export const t = (key, values = {}) =>
  (words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
