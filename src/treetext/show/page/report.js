"use strict";
// The browser of documents: a list with filters, and the document that is open.

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("filters");
const list = document.getElementById("list");
const view = document.getElementById("document");
const AT_ONCE = 8; // sentence trees, before the browser may do something else
let shown = []; // the documents that pass the filters
let opened = null; // the number of the document that is open

const isRight = (doc) => doc.label === doc.predicted;
const nameOf = (label) => (label < 0 ? "no label" : data.labels[label]);
const passes = {
  label: (doc, wanted) => doc.label === Number(wanted),
  predicted: (doc, wanted) => doc.predicted === Number(wanted),
  right: (doc, wanted) => doc.label >= 0 && isRight(doc) === (wanted === "right"),
  tree: (doc, wanted) => doc.projective !== null && doc.projective === (wanted === "projective"),
  text: (doc, wanted) => `${doc.name} ${doc.start}`.toLowerCase().includes(wanted.trim().toLowerCase()),
};

function filter() {
  const wanted = [...new FormData(form)].filter(([, value]) => value !== "");
  const numbers = data.documents.map((_, number) => number);
  shown = numbers.filter((number) => wanted.every(([name, value]) => passes[name](data.documents[number], value)));
  list.replaceChildren(...shown.map(row));
  mark();
  document.getElementById("count").textContent = `${shown.length} of ${data.documents.length} documents`;
  document.getElementById("nothing").hidden = shown.length > 0;
}

function row(number) {
  const doc = data.documents[number];
  const start = make("button", { type: "button", "data-number": number, "aria-controls": "document" },
    make("bdi", {}, doc.start || "(no words)"));
  return make("tr", {},
    make("th", { scope: "row" }, start),
    make("td", {}, make("bdi", {}, nameOf(doc.label))),
    make("td", {}, ...verdict(doc)),
    make("td", { class: "number" }, `${doc.sentences}`),
    make("td", {}, doc.projective === null ? "–" : doc.projective ? "yes" : "no"),
  );
}

function verdict(doc) {
  const known = doc.label >= 0;
  const mark = known && make("span", { class: isRight(doc) ? "right" : "wrong" }, isRight(doc) ? "✓ " : "✗ ");
  const said = known && make("span", { class: "unseen" }, isRight(doc) ? "right: " : "wrong: ");
  if (mark) mark.setAttribute("aria-hidden", "true");
  return [mark, said, make("bdi", {}, nameOf(doc.predicted)), ` ${doc.probability}%`].filter(Boolean);
}

function mark() {
  for (const button of list.querySelectorAll("button")) {
    button.setAttribute("aria-current", Number(button.dataset.number) === opened);
  }
}

// What is needed of one document is packed until then: JSON, deflated, in base 64.
async function unpacked(number) {
  const bytes = Uint8Array.from(atob(data.packed[number]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { sentences, ...tree } = await new Response(stream).json();
  return { tree: grouped(tree), sentences: sentences.map((each) => ({ ...grouped(each), words: each.words.split("\n") })) };
}

// Heads and their shares alternate in the data.
const grouped = (tree) => ({
  ...tree,
  likely: tree.likely?.map((flat) => flat.flatMap((head, i) => (i % 2 ? [] : [[head, flat[i + 1]]]))),
});

async function open(number, focus = true) {
  opened = number;
  mark();
  if (focus) history.replaceState(null, "", `#document-${number + 1}`);
  const doc = data.documents[number];
  let found;
  try {
    found = await unpacked(number);
  } catch (error) {
    view.replaceChildren(make("p", { role: "alert" }, `This document cannot be shown by this browser: ${error.message}`));
    return;
  }
  if (opened !== number) return; // another was opened meanwhile
  const heading = make("h3", { tabindex: -1 }, `Document ${number + 1}`);
  view.replaceChildren(head(number, heading, doc), ...body(found, number));
  view.hidden = false;
  if (focus) {
    heading.focus({ preventScroll: true });
    view.scrollIntoView({ block: "start" });
  }
}

function head(number, heading, doc) {
  const place = shown.indexOf(number);
  const step = (by, text) => {
    const there = shown[place + by] !== undefined && place >= 0;
    const button = make("button", { type: "button", class: "step", disabled: !there }, text);
    button.addEventListener("click", () => open(shown[place + by]));
    return button;
  };
  const facts = [
    ["Label", [make("bdi", {}, nameOf(doc.label))]],
    ["Predicted", verdict(doc)],
    ["Size", [`${doc.sentences} sentences, ${doc.words} words`]],
    ["From", [make("bdi", {}, doc.name)]],
  ].filter(([name, value]) => name !== "From" || doc.name);
  return make("header", {},
    make("div", { class: "title" }, heading, make("div", { class: "steps" }, step(-1, "← Previous"), step(1, "Next →"))),
    make("dl", { class: "facts" }, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
}

function body({ tree, sentences }, number) {
  const texts = sentences.map(({ words }) => words.join(" "));
  if (!sentences.length) return [make("p", {}, "A text without words: the most frequent class was predicted.")];
  const places = sentences.map((_, i) => make("section", { class: "sentence", "aria-label": `Sentence ${i + 1}` }));
  const parts = [];
  if (sentences.length > 1 && (tree.heads || tree.likely)) {
    parts.push(make("h4", {}, "Tree over the sentences"), make("p", { class: "remark" }, remark(tree)));
    const help = "Point at a sentence, or use the arrow keys, to see its likely heads; click to see its words.";
    parts.push(documentTree(tree, texts, "Sentences, with the tree over them", help, (i) => {
      places[i].scrollIntoView({ block: "center" });
      places[i].querySelector("[tabindex]")?.focus({ preventScroll: true });
    }));
  }
  const trees = sentences.some((each) => each.heads || each.likely);
  parts.push(make("h4", {}, trees ? "Trees over the words" : "Words"));
  if (trees) parts.push(make("p", { class: "remark" }, "Point at a word, or use the arrow keys, to see its likely heads."));
  parts.push(...places);
  draw(0, places, sentences, number);
  return parts;
}

function draw(from, places, sentences, number) {
  if (opened !== number) return;
  for (const [i, place] of [...places.entries()].slice(from, from + AT_ONCE)) {
    const sentence = sentences[i];
    const title = `Sentence ${i + 1}: tree over ${sentence.words.length} words`;
    place.append(make("h5", {}, `${i + 1}`, make("small", {}, sentence.heads ? ` ${remark(sentence)}` : "")));
    place.append(sentence.heads || sentence.likely
      ? sentenceTree(sentence, title, "")
      : make("p", { dir: "auto" }, sentence.words.join(" ")));
  }
  if (from + AT_ONCE < places.length) setTimeout(() => draw(from + AT_ONCE, places, sentences, number));
}

function remark({ heads, gold, projective, likely }) {
  if (!heads) return "Attention without trees: the shares that each takes from which.";
  const height = Math.max(...heads.map((_, node) => depth(heads, node)));
  const parts = [projective ? "projective" : "non-projective", `height ${height}`];
  if (gold) {
    const same = heads.filter((head, node) => head === gold[node]).length;
    parts.push(`${same} of ${heads.length} heads as in the gold tree (dashed)`);
  }
  return parts.join(", ");
}

function depth(heads, node) {
  let steps = 1;
  for (; heads[node] !== ROOT; node = heads[node]) steps += 1;
  return steps;
}

list.addEventListener("click", (event) => {
  const button = event.target.closest("tr")?.querySelector("button");
  if (button) open(Number(button.dataset.number));
});
list.addEventListener("keydown", (event) => {
  const buttons = [...list.querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = step && buttons[buttons.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});
form.addEventListener("input", filter);
form.addEventListener("reset", () => setTimeout(filter));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => openFromAddress());
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("main details:not(.as-table)")) details.open = true;
});

function openFromAddress() {
  const number = Number(location.hash.match(/^#document-(\d+)$/)?.[1]) - 1;
  if (data.documents[number] && number !== opened) open(number);
  return Boolean(data.documents[number]);
}

form.hidden = false;
filter();
if (!openFromAddress() && shown.length) open(shown[0], false);
