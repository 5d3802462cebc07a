"use strict";
// The browser of documents: a list with filters, and the open document.

const { count, make } = trees;
const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("filters");
const list = document.getElementById("list");
const view = document.getElementById("document");
const PAPER = { width: 680, height: 150, atOnce: Infinity }; // for printing: narrow enough for any paper, in parts
let shown = []; // numbers of the documents that pass the filters
let opened = null; // number of the open document
let content = null; // its unpacked content

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
  const isWanted = (doc) => wanted.every(([name, value]) => passes[name](doc, value));
  shown = [...data.documents.keys()].filter((number) => isWanted(data.documents[number]));
  list.replaceChildren(...shown.map(row));
  mark();
  document.getElementById("count").textContent = `${shown.length} of ${count(data.documents.length, "document")}`;
  document.getElementById("nothing").hidden = shown.length > 0;
}

function row(number) {
  const doc = data.documents[number];
  const start = make("button", { type: "button", "data-number": number, "aria-controls": "document" },
    make("bdi", {}, doc.start || "(no words)"));
  return make("tr", {},
    make("th", { scope: "row" }, start),
    make("td", {}, make("bdi", {}, nameOf(doc.label))),
    make("td", {}, verdict(doc)),
    make("td", { class: "number" }, `${doc.sentences}`),
    make("td", {}, doc.projective === null ? "–" : doc.projective ? "yes" : "no"));
}

function verdict(doc) {
  const kind = isRight(doc) ? "right" : "wrong";
  const known = doc.label >= 0;
  return [
    known && make("span", { class: kind, "aria-hidden": true }, kind === "right" ? "✓ " : "✗ "),
    known && make("span", { class: "unseen" }, `${kind}: `),
    make("bdi", {}, nameOf(doc.predicted)),
    ` ${doc.probability}%`,
  ];
}

// Highlight the open document and update the step buttons. One button of the list is a tab stop.
function mark() {
  const stop = shown.includes(opened) ? opened : shown[0];
  for (const button of list.querySelectorAll("button")) {
    const number = Number(button.dataset.number);
    button.setAttribute("aria-current", number === opened);
    button.tabIndex = number === stop ? 0 : -1;
  }
  for (const button of view.querySelectorAll("button.step")) button.disabled = next(Number(button.value)) === undefined;
}

const next = (way) => (way > 0 ? shown.find((number) => number > opened) : shown.findLast((number) => number < opened));

// The content of a document is compressed until it is opened: deflated JSON in base 64, with marginals in percent.
async function unpacked(number) {
  const bytes = Uint8Array.from(atob(data.packed[number]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const text = await new Response(stream).json();
  for (const tree of [text, ...text.sentences]) {
    if (tree.weights) tree.weights = { arcs: tree.weights.arcs.map(shares), roots: shares(tree.weights.roots) };
  }
  return text;
}

const shares = (percents) => percents.map((percent) => percent / 100);

async function open(number, focus = true) {
  opened = number;
  if (focus) history.replaceState(null, "", `#document-${number + 1}`);
  let found;
  try {
    found = await unpacked(number);
  } catch (error) {
    view.replaceChildren(make("p", { role: "alert" }, `This browser cannot show the document: ${error.message}`));
    view.hidden = false;
    return;
  }
  if (opened !== number) return; // another was opened meanwhile
  content = found;
  view.hidden = false;
  draw({ width: view.clientWidth });
  if (focus) {
    view.querySelector("h3").focus({ preventScroll: true });
    view.scrollIntoView({ block: "start" });
  }
}

function draw(options) {
  if (!content) return;
  const ngrams = trees.evidence(content.evidence, nameOf(data.documents[opened].predicted));
  view.replaceChildren(head(opened), ...(ngrams ? [ngrams] : []), ...trees.parsed(content, options));
  mark();
}

function head(number) {
  const doc = data.documents[number];
  const step = (way, text) => {
    const button = make("button", { type: "button", class: "step", value: way }, text);
    button.addEventListener("click", () => open(next(way)));
    return button;
  };
  const facts = {
    Label: make("bdi", {}, nameOf(doc.label)),
    Predicted: verdict(doc),
    Size: `${count(doc.sentences, "sentence")}, ${count(doc.words, "word")}`,
    From: doc.name && make("bdi", {}, doc.name),
  };
  const told = Object.entries(facts)
    .filter(([, value]) => value)
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return make("header", {},
    make("div", { class: "title" },
      make("h3", { tabindex: -1 }, `Document ${number + 1}`),
      make("div", { class: "steps" }, step(-1, "← Previous"), step(1, "Next →"))),
    make("dl", { class: "facts" }, told));
}

list.addEventListener("click", (event) => {
  const button = event.target.closest("tr")?.querySelector("button");
  if (button) open(Number(button.dataset.number));
});
list.addEventListener("keydown", (event) => {
  const buttons = [...list.querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const there = step && buttons[buttons.indexOf(event.target) + step];
  if (!there) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  there.tabIndex = 0;
  there.focus();
});
form.addEventListener("input", filter);
form.addEventListener("reset", () => setTimeout(filter));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", openFromAddress);

// Drawings fit the width of the screen or, printed with all tables open, of the paper.
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) draw({ width: view.clientWidth });
  width = innerWidth;
});
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("section > details:not([open])")];
  for (const details of folded) details.open = true;
  draw(PAPER);
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
  draw({ width: view.clientWidth });
});

function openFromAddress() {
  const number = Number(location.hash.match(/^#document-(\d+)$/)?.[1]) - 1;
  const there = Boolean(data.documents[number]);
  if (there && number !== opened) open(number);
  return there;
}

form.hidden = false;
filter();
if (!openFromAddress() && shown.length) open(shown[0], false);
