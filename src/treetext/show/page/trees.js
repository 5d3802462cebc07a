"use strict";
// Drawings of trees. Text goes in as text, never as markup.

const ROOT = -1;
const ROW = 30; // height of a sentence in a document tree
const MOST = 220; // room for the arcs of one tree, in pixels

const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const shape = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

// A tree over words, with the gold tree below it: {words, heads, likely, gold} as they are in the data of the report.
function sentenceTree(sentence, title, help) {
  const { words, heads, gold } = sentence;
  const widths = words.map((word) => Math.max(24, Math.ceil(widthOf(word))));
  const rtl = isRightToLeft(words);
  const width = widths.reduce((sum, each) => sum + each + 16, 8);
  let end = 4;
  const middles = widths.map((each) => {
    const x = end + (each + 16) / 2;
    end += each + 16;
    return rtl ? width - x : x;
  });
  const above = heads ? arcsOf(heads) : null;
  const below = gold ? arcsOf(gold) : null;
  const top = above ? roomOf(above) : 4;
  const foot = top + 26;
  const height = foot + 20 + (below ? roomOf(below) : 0);
  const nodes = words.map((word, j) =>
    shape("g", { class: "node", transform: `translate(${middles[j]} ${top})` },
      shape("rect", { x: -widths[j] / 2 - 5, width: widths[j] + 10, height: 26, rx: 5 }),
      shape("text", { y: 18 }, word),
      shape("text", { class: "share", y: 39 }),
    ));
  const drawing = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title },
    above && drawArcs(above, sentence.likely, middles, (along, out) => `${along} ${top - out}`, "arc"),
    below && drawArcs(below, null, middles, (along, out) => `${along} ${foot + 16 + out}`, "arc gold"),
    nodes,
  );
  const names = words.map((word) => `“${word}”`);
  const figure = figureOf(sentence, names, nodes, make("div", { class: "wide" }, drawing), help);
  if (rtl) figure.dataset.direction = "rtl";
  return figure;
}

// A tree over sentences, which stand below each other with the arcs beside them; the gold tree is on the other side.
function documentTree(tree, texts, title, help, open) {
  const most = Math.min(MOST, innerWidth / 5);
  const arcs = tree.heads ? arcsOf(tree.heads, most) : null;
  const others = tree.gold ? arcsOf(tree.gold, most) : null;
  const middles = texts.map((_, j) => ROW * (j + 0.5));
  const beside = (found, likely, turn, width, kind) =>
    shape("svg", { width, height: ROW * texts.length, viewBox: `0 0 ${width} ${ROW * texts.length}`, "aria-hidden": true },
      drawArcs(found, likely, middles, turn, kind));
  const room = arcs && roomOf(arcs) + 14;
  const nodes = texts.map((text, j) =>
    make("button", { type: "button", class: "node", title: text },
      make("span", { class: "number" }, `${j + 1}`),
      make("bdi", { class: "text" }, text),
      make("span", { class: "share" }),
    ));
  nodes.forEach((node, j) => node.addEventListener("click", () => open(j)));
  const list = make("ol", { class: "sentences", "aria-label": title }, nodes.map((node) => make("li", {}, node)));
  const drawing = make("div", { class: "beside" },
    arcs && beside(arcs, tree.likely, (along, out) => `${room - out} ${along}`, room, "arc beside-text"),
    list,
    others && beside(others, null, (along, out) => `${out} ${along}`, roomOf(others) + 14, "arc gold beside-text"),
  );
  return figureOf(tree, texts.map((_, j) => `sentence ${j + 1}`), nodes, drawing, help);
}

// What can be asked of a tree: which heads a node is likely to have, by pointing at it or with the arrow keys.
function figureOf(tree, names, nodes, drawing, help) {
  const told = make("p", { class: "told", "aria-hidden": true }, help);
  const figure = make("figure", { class: "tree" }, drawing, tree.likely && told, tree.likely && asTable(tree, names));
  const arcs = new Map([...drawing.querySelectorAll(".arc:not(.gold)")].map((arc) => [Number(arc.dataset.node), arc]));
  if (!tree.likely) return figure;
  const clear = () => {
    figure.classList.remove("asked");
    for (const part of figure.querySelectorAll(".asking")) part.classList.remove("asking");
    for (const node of nodes) {
      node.style.removeProperty("--share");
      node.querySelector(".share").textContent = "";
    }
    told.textContent = help;
  };
  const ask = (j) => {
    clear();
    figure.classList.add("asked");
    nodes[j].classList.add("asking");
    arcs.get(j)?.classList.add("asking");
    for (const [head, share] of tree.likely[j]) {
      const node = nodes[head === ROOT ? j : head];
      if (head !== ROOT) node.style.setProperty("--share", share / 100);
      node.querySelector(".share").textContent = head === ROOT ? `root ${share}%` : `${share}%`;
    }
    told.textContent = `${names[j]} — likely heads: ${likelyHeads(tree, j, names)}`;
  };
  let current = 0;
  nodes.forEach((node, j) => {
    node.setAttribute("tabindex", j === 0 ? 0 : -1);
    if (node.tagName === "g") node.setAttribute("role", "img");
    const text = node.tagName === "g" ? names[j] : `${j + 1}: ${node.title}`;
    node.setAttribute("aria-label", `${text}; ${headOf(tree, j, names)}likely heads: ${likelyHeads(tree, j, names)}`);
    node.addEventListener("pointerenter", () => ask(j));
    node.addEventListener("focus", () => {
      nodes[current].setAttribute("tabindex", -1);
      nodes[(current = j)].setAttribute("tabindex", 0);
      ask(j);
    });
    node.addEventListener("blur", clear);
  });
  drawing.addEventListener("pointerleave", clear);
  drawing.addEventListener("keydown", (event) => {
    const forward = figure.dataset.direction === "rtl" ? -1 : 1;
    const step = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = { Home: 0, End: nodes.length - 1 }[event.key] ?? (step && current + step);
    if (event.key === "Escape") clear();
    if (next === undefined || !nodes[next]) return;
    event.preventDefault();
    nodes[next].focus();
  });
  return figure;
}

const headName = (head, names) => (head === ROOT ? "root" : names[head]);
const headOf = (tree, j, names) => (tree.heads ? `head: ${headName(tree.heads[j], names)}; ` : "");
const likelyHeads = (tree, j, names) =>
  tree.likely[j].map(([head, share]) => `${headName(head, names)} ${share}%`).join(", ") || "none above 1%";

// The same for those who cannot see the drawing, made when it is asked for.
function asTable(tree, names) {
  const details = make("details", { class: "as-table" }, make("summary", {}, "As a table"));
  const build = () => {
    if (details.querySelector("table")) return;
    const columns = ["", ...(tree.heads ? ["Head"] : []), ...(tree.gold ? ["Gold head"] : []), "Likely heads"];
    const rows = names.map((name, j) =>
      make("tr", {},
        make("th", { scope: "row" }, make("bdi", {}, name)),
        tree.heads && make("td", {}, make("bdi", {}, headName(tree.heads[j], names))),
        tree.gold && make("td", {}, make("bdi", {}, headName(tree.gold[j], names))),
        make("td", {}, make("bdi", {}, likelyHeads(tree, j, names))),
      ));
    details.append(make("table", {},
      make("caption", {}, "Each node with its head in the tree, and its likely heads over all trees"),
      make("thead", {}, make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows)));
  };
  details.addEventListener("toggle", build);
  return details;
}

// Shorter arcs are nearer to the nodes, and no two arcs over the same place are at the same distance.
function arcsOf(heads, most = MOST) {
  const used = heads.map(() => 0);
  const arcs = heads.map((head, node) => ({ head, node })).filter(({ head }) => head !== ROOT);
  const span = ({ head, node }) => [Math.min(head, node), Math.max(head, node)];
  arcs.sort((a, b) => Math.abs(a.head - a.node) - Math.abs(b.head - b.node));
  for (const arc of arcs) {
    const [first, last] = span(arc);
    arc.level = 1 + Math.max(...used.slice(first, last));
    used.fill(arc.level, first, last);
  }
  const roots = heads.map((head, node) => ({ head, node })).filter(({ head }) => head === ROOT);
  const levels = Math.max(0, ...used);
  return { arcs, roots, levels, step: Math.min(18, most / Math.max(1, levels)) };
}

const roomOf = ({ levels, step }) => levels * step + 26;

function drawArcs(found, likely, middles, turn, kind) {
  const { arcs, roots, step } = found;
  const share = (node, head) => (likely ? (likely[node].find(([each]) => each === head)?.[1] ?? 1) / 100 : 1);
  const far = roomOf(found) - 14;
  return [
    ...roots.map(({ node }) => {
      const [x, y] = turn(middles[node], far + (kind.includes("beside") ? 14 : 8)).split(" ");
      return shape("g", { class: `${kind} root`, "data-node": node, style: `--strength: ${share(node, ROOT)}` },
        shape("path", { class: "line", d: `M ${turn(middles[node], far - 6)} L ${turn(middles[node], 6)}` }),
        shape("path", { class: "tip", d: tip(middles[node], turn) }),
        shape("text", { x, y, dy: "0.3em" }, "root"));
    }),
    ...arcs.map(({ head, node, level }) =>
      shape("g", { class: kind, "data-node": node, style: `--strength: ${share(node, head)}` },
        shape("path", { class: "line", d: bracket(middles[head], middles[node], 8 + level * step, turn) }),
        shape("path", { class: "tip", d: tip(middles[node], turn) }))),
  ];
}

// Along the nodes and away from them: `turn` says where that is in a drawing.
function bracket(from, to, out, turn) {
  const way = Math.sign(to - from);
  const start = from + 5 * way;
  const round = Math.min(7, Math.abs(to - start) / 2, out - 6);
  return [
    `M ${turn(start, 0)} L ${turn(start, out - round)}`,
    `Q ${turn(start, out)} ${turn(start + way * round, out)} L ${turn(to - way * round, out)}`,
    `Q ${turn(to, out)} ${turn(to, out - round)} L ${turn(to, 6)}`,
  ].join(" ");
}

const tip = (at, turn) => `M ${turn(at, 0)} L ${turn(at - 3.5, 7)} L ${turn(at + 3.5, 7)} Z`;

const pen = document.createElement("canvas").getContext("2d");

function widthOf(word) {
  pen.font = `15px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(word).width;
}

function isRightToLeft(words) {
  const letters = words.join("").match(/\p{L}/gu) ?? [];
  const from = letters.filter((letter) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter));
  return from.length * 2 > letters.length;
}
