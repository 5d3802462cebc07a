"use strict";
// Sends a text to the server and draws the label and the trees of the answer.

const { count, make } = trees;
const at = (id) => document.getElementById(id);
const LONGEST_LINK = 100000; // characters of an address that browsers and chat programs accept
const GONE = 0; // status for no answer at all
const TROUBLE = {
  [GONE]: "The server does not answer. This page keeps trying; your text stays here.",
  413: "The text is too large.",
  422: "The server does not accept this text.",
  502: "The server is down. This page keeps trying; your text stays here.",
  503: "The server is busy. This page tries again by itself.",
  504: "The server took too long. A shorter text may work.",
};
const SENTENCES = ["First sentence", "Second sentence"];
let about = null; // the model
let fields = []; // the text fields
let parsed = null; // the answer on display
let opened = 0; // index of the open sentence
let request = null; // controller that aborts the running request
let again = null; // timer of the next retry

async function start() {
  try {
    about = await answer("v1/model");
  } catch (error) {
    refused(error, start);
    return;
  }
  refused(null);
  const { recipe, labels, language, scores, parameters } = about;
  const facts = {
    Model: recipe,
    Labels: labels.length > 8 ? `${labels.length}` : labels.join(", "),
    Accuracy: Object.entries(scores).map(([split, score]) => `${split} ${percent(score)}`).join(", "),
    Parameters: `${parameters.toLocaleString("en")} without word vectors`,
  };
  const told = Object.entries(facts).filter(([, value]) => value);
  const fact = ([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  at("model").replaceChildren(...told.map(fact));
  fields = (isPair() ? SENTENCES : ["Text"]).map((name, i) =>
    make("textarea", {
      id: `text-${i}`, name: name.toLowerCase().split(" ")[0], rows: isPair() ? 2 : 5, required: true, dir: "auto",
      lang: language, spellcheck: "false", autocomplete: "off", "aria-describedby": "problem",
    }));
  at("fields").replaceChildren(...fields.map((field, i) =>
    make("div", {}, make("label", { for: field.id }, isPair() ? SENTENCES[i] : "Text"), field)));
  const buttons = Object.entries(examples()).map(([name, texts]) => {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      fill([texts].flat());
      ask();
    });
    return button;
  });
  at("examples").replaceChildren(make("span", {}, "or try"), ...buttons);
  at("examples").hidden = !buttons.length;
  openAddress();
}

const isPair = () => about.task === "pairs";
const percent = (share) => `${(100 * share).toFixed(1)}%`;

function examples() {
  if (about.recipe?.startsWith("hidden-trees/")) return EXAMPLES["hidden-trees"];
  return about.language === "en" ? EXAMPLES[about.task] : {};
}

function fill(texts) {
  fields.forEach((field, i) => {
    field.value = texts[i];
  });
}

// The JSON of an answer; throws an error with the status otherwise.
async function answer(path, options) {
  let status = GONE;
  let after = 0;
  let found = null;
  try {
    const response = await fetch(path, options);
    after = Number(response.headers.get("Retry-After"));
    found = await response.json().catch((error) => {
      if (response.ok) throw error;
    });
    if (response.ok) return found;
    status = response.status;
  } catch {
    // no answer, or an incomplete one
  }
  const { detail = "", errors = [] } = found ?? {};
  throw Object.assign(new Error(detail), { status, errors, after });
}

async function ask(isFirst = true) {
  clearTimeout(again);
  request?.abort();
  const { signal } = (request = new AbortController());
  if (address() !== location.hash) history.pushState(null, "", address() || location.pathname);
  if (isFirst) at("status").textContent = "Waiting for the server …";
  const texts = fields.map((field) => field.value);
  const body = JSON.stringify(isPair() ? { pairs: [texts], weights: true } : { texts, weights: true });
  try {
    const headers = { "Content-Type": "application/json" };
    const found = await answer("v1/parse", { method: "POST", headers, body, signal });
    [parsed] = found.parsed;
  } catch (error) {
    if (signal.aborted) return;
    parsed = null;
    at("result").hidden = true;
    refused(error, () => ask(false));
    return;
  }
  refused(null);
  opened = 0;
  show();
}

// Show why there is no answer, and try again if that may help.
function refused(error, retry) {
  const { status, message, errors = [], after } = error ?? {};
  const wrong = errors.map(({ pointer }) => pointer.match(/^#\/pairs\/0\/([01])/)?.[1]);
  fields.forEach((field, i) => {
    const isWrong = status === 413 || wrong.some((side) => side === undefined || Number(side) === i);
    field.setAttribute("aria-invalid", Boolean(error) && isWrong);
  });
  if (!error) {
    at("problem").replaceChildren();
    return;
  }
  at("status").textContent = "";
  const isBack = [GONE, 502, 503].includes(status);
  const lead = TROUBLE[status] ?? `The server answered with an error (${status}).`;
  const more = errors.map(({ detail }, i) => `${wrong[i] ? `${SENTENCES[wrong[i]]}: ` : ""}${detail}`);
  const told = [lead, ...(errors.length ? more : [message])].filter(Boolean);
  if (at("problem").textContent !== told.join("")) { // or a screen reader would read it again
    at("problem").replaceChildren(...told.map((line) => make("p", {}, line)));
  }
  if (isBack) again = setTimeout(retry, 1000 * Math.max(1, after));
}

function show() {
  const { label, probability, probabilities, sentences, evidence } = parsed;
  const words = sentences.reduce((sum, each) => sum + each.words.length, 0);
  at("result").hidden = false;
  at("label").replaceChildren(make("bdi", {}, label), make("small", {}, ` ${percent(probability)}`));
  at("classes").replaceChildren(...about.labels.map((name) => {
    const share = probabilities[name];
    const bar = make("span", { class: "bar", "aria-hidden": true });
    bar.style.setProperty("--share", share);
    const current = name === label && "true";
    return make("li", { "aria-current": current }, make("bdi", {}, name), bar, make("span", {}, percent(share)));
  }));
  at("evidence").replaceChildren(...[trees.evidence(evidence, label)].filter(Boolean));
  const size = `${count(sentences.length, "sentence")}, ${count(words, "word")}`;
  at("status").textContent = `${label}, ${percent(probability)}: ${size}`;
  at("controls").classList.toggle("treeless", !parsed.weights && !sentences.some(({ weights }) => weights));
  at("copied").textContent = "";
  draw();
  if (at("label").getBoundingClientRect().top > 0.8 * innerHeight) at("label").scrollIntoView();
}

const view = () => document.querySelector("[name=view]:checked").value;

// Draw everything, or only the open sentence.
function draw(all = true) {
  if (!parsed) return;
  const { sentences } = parsed;
  const options = { width: at("trees").clientWidth, view: view() };
  const shown = isPair() ? [...sentences.keys()] : sentences.length ? [opened] : [];
  const parts = shown.map((i) => {
    const place = sentences.length > 1 ? ` ${i + 1} of ${sentences.length}` : "";
    const name = isPair() ? SENTENCES[i] : `Sentence${place}`;
    const figure = trees.overWords(sentences[i], { ...options, title: name });
    return part(name, sentences[i], figure, `sentence-${i + 1}.svg`, isPair() ? [] : steps());
  });
  if (all) {
    const isMany = !isPair() && sentences.length > 1;
    const over = isMany && part("Sentences", parsed, trees.overSentences(parsed, { ...options, open }), "document.svg");
    const nothing = !sentences.length && make("p", {}, "This text has no words: the model predicts the most frequent class.");
    at("trees").replaceChildren(...[over, nothing].filter(Boolean), make("div", { id: "words" }));
  }
  at("words").replaceChildren(...parts);
  at("trees").querySelectorAll("ol button.node").forEach((node, i) => node.setAttribute("aria-current", i === opened));
  hide();
}

function part(name, tree, figure, file, more = []) {
  const isDrawn = tree.heads || tree.weights;
  const save = make("button", { type: "button", "aria-label": `Save SVG: ${name}` }, "Save SVG");
  save.addEventListener("click", () => copies.save(file, copies.picture(figure), "image/svg+xml"));
  return make("section", { "aria-label": name },
    make("div", { class: "title" },
      make("h3", { tabindex: -1 }, name, make("small", {}, ` ${isDrawn ? trees.remark(tree) : "no attention"}`)),
      make("div", { class: "steps" }, more, save)),
    figure);
}

function steps() {
  if (parsed.sentences.length < 2) return [];
  return [[-1, "← Previous"], [1, "Next →"]].map(([way, text]) => {
    const button = make("button", { type: "button", value: way }, text);
    button.disabled = !parsed.sentences[opened + way];
    button.addEventListener("click", () => open(opened + way, way));
    return button;
  });
}

// Open a sentence and move the focus to its heading or back to the step button that was pressed.
function open(i, way = null) {
  opened = i;
  draw(false);
  const button = way && at("words").querySelector(`button[value="${way}"]:enabled`);
  (button || at("words").querySelector("h3")).focus({ preventScroll: true });
  if (!way) at("words").scrollIntoView({ block: "nearest" });
}

// Hide arcs below the probability of the slider.
function hide() {
  const least = Number(at("least").querySelector("input").value);
  at("least").querySelector("output").textContent = `${least}%`;
  for (const arc of at("trees").querySelectorAll("[data-share]")) {
    arc.classList.toggle("weak", 100 * Number(arc.dataset.share) < least);
  }
}

// The text is in the fragment of the address, which browsers do not send; very long texts are left out.
function address() {
  const found = `#${new URLSearchParams(fields.map((field) => [field.name, field.value]))}`;
  return found.length > LONGEST_LINK ? "" : found;
}

function openAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  if (!fields.some((field) => found.has(field.name))) return;
  fill(fields.map((field) => found.get(field.name) ?? ""));
  ask();
}

async function copy(what, text) {
  try {
    await copies.copy(text);
    at("copied").textContent = `Copied: ${what}.`;
  } catch (error) {
    at("copied").textContent = `Not copied: ${error.message}.`;
  }
}

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
at("fields").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
});
at("views").addEventListener("change", () => draw());
at("least").addEventListener("input", hide);
at("json").addEventListener("click", () => copy("JSON", JSON.stringify(parsed)));
at("conllu").addEventListener("click", () => copy("CoNLL-U", copies.conllu(parsed)));
at("link").addEventListener("click", () => {
  if (location.hash) copy("a link to this page with this text", location.href);
  else at("copied").textContent = "This text is too long for a link.";
});
addEventListener("hashchange", openAddress);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) draw();
  width = innerWidth;
});
start();
