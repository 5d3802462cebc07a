"use strict";
// Drawings of trees for any page. Text is inserted as text, never as markup. A content security policy need not allow
// inline styles or handlers. Needs trees.css.
//
// A parsed text is what `treetext parse --weights` prints: {heads, weights, sentences, …}, each sentence {words, heads,
// weights}. heads[j] is the head of node j, -1 for the root. weights.arcs[i][j] is the probability that i is the head of
// j, weights.roots[j] that j is the root. Heads, weights or both may be null. Optional `gold` has the gold heads.
//
//   parsed(text, {width, height, atOnce})        elements: all trees of a text, `atOnce` sentences without a pause
//   overSentences(text, {width, height, view, open})   a figure: sentences with arcs beside them; a click calls open(i)
//   overWords(sentence, {width, height, view, title})  a figure: arcs over words or, past `width` pixels, beside them
//   evidence(ngrams, label)                      a section: n-grams for a label and against it; null without n-grams
//   remark(tree)                                 a description of a tree
//   count(number, noun)                          a number with its noun in the singular or the plural
//   make, shape(name, attributes, ...children)   an element of HTML or SVG; null and false are skipped
//
// A `view` is "tree" or "marginals" (a heat map); without a view, the heat map is folded below the tree. Arcs and cells
// have their probability as data-share. For printing, drawings higher than `height` are split.

const trees = (() => {
  const ROOT = -1;
  const MOST = 220; // pixels for the arcs of one tree
  const NAMED = 5; // likely heads named in text; all are drawn
  const LEAST = 0.005; // the least probability shown: it rounds to 1%
  const SENTENCE_ROW = 30;
  const WORD_ROW = 24;
  const GAP = 12; // between words in a line
  const CELL = 24; // of a heat map
  const SHADE = 0.55; // opacity of a cell of probability 1: its number stays readable

  function parsed(text, { width = document.documentElement.clientWidth - 32, height = Infinity, atOnce = 8 } = {}) {
    const { sentences } = text;
    if (!sentences.length) return [make("p", {}, "This text has no words: the model predicts the most frequent class.")];
    const parts = [];
    const places = sentences.map((_, i) => make("section", { class: "sentence", "aria-label": `Sentence ${i + 1}` }));
    const open = (i) => {
      places[i].scrollIntoView({ block: "center" });
      places[i].querySelector("[tabindex]")?.focus({ preventScroll: true });
    };
    if (sentences.length > 1 && isDrawn(text)) {
      parts.push(make("h4", {}, `${text.heads ? "Tree" : "Attention"} over the sentences`));
      parts.push(make("p", { class: "remark" }, remark(text)), overSentences(text, { width, height, open }));
    }
    const kind = sentences.some(({ heads }) => heads) ? "Trees over the words" : "Attention over the words";
    parts.push(make("h4", {}, sentences.some(isDrawn) ? kind : "Words"));
    if (sentences.some(({ weights }) => weights)) {
      parts.push(make("p", { class: "remark hint" }, "Point at a word or use the arrow keys to see its likely heads."));
    }
    const draw = (from) => {
      for (let i = from; i < Math.min(from + atOnce, places.length); i += 1) {
        places[i].append(...one(sentences[i], i, { width, height }));
      }
      if (from + atOnce < places.length) setTimeout(() => places[0].isConnected && draw(from + atOnce));
    };
    draw(0);
    return [...parts, ...places];
  }

  function one(sentence, i, room) {
    if (!isDrawn(sentence)) return [make("h5", {}, `${i + 1}`), make("p", { dir: "auto" }, sentence.words.join(" "))];
    const title = `Sentence ${i + 1}: ${count(sentence.words.length, "word")}`;
    const heading = make("h5", {}, `${i + 1}`, make("small", {}, ` ${remark(sentence)}`));
    return [heading, overWords(sentence, { ...room, title })];
  }

  const isDrawn = ({ heads, weights }) => Boolean(heads || weights);

  function remark({ heads, gold }) {
    if (!heads) return "no trees: attention weights only";
    const height = Math.max(...heads.map((_, j) => above(heads, j).length));
    const parts = [isProjective(heads) ? "projective" : "non-projective", `height ${height}`];
    const same = heads.filter((head, j) => head === gold?.[j]).length;
    if (gold) parts.push(`${same} of ${heads.length} heads agree with the gold tree (dashed)`);
    return parts.join(", ");
  }

  // A node and its ancestors.
  function above(heads, node) {
    const found = [node];
    while (heads[node] !== ROOT) found.push((node = heads[node]));
    return found;
  }

  // Whether every node between a head and its dependent is a descendant of that head.
  function isProjective(heads) {
    return heads.every((head, node) => {
      if (head === ROOT) return true;
      const between = heads.map((_, j) => j).slice(Math.min(head, node) + 1, Math.max(head, node));
      return between.every((j) => above(heads, j).includes(head));
    });
  }

  function overSentences(text, { width = Infinity, height = Infinity, view = null, open = null } = {}) {
    const texts = text.sentences.map(({ words }) => words.join(" "));
    const names = texts.map((_, j) => `sentence ${j + 1}`);
    const click = open ? "; click to see its words" : "";
    const help = `Point at a sentence or use the arrow keys to see its likely heads${click}.`;
    const title = "Sentences, with the tree over them";
    if (view === "marginals" && text.weights) return marginals(text, names);
    return beside(text, texts, names, { title, row: SENTENCE_ROW, width, height, view, open, help });
  }

  function overWords(sentence, { width = Infinity, height = Infinity, view = null, title = "Tree over words" } = {}) {
    const { words } = sentence;
    const isRepeated = (word) => words.indexOf(word) !== words.lastIndexOf(word);
    const names = words.map((word, j) => (isRepeated(word) ? `“${word}” (${j + 1})` : `“${word}”`));
    if (view === "marginals" && sentence.weights) return marginals(sentence, names);
    const widths = measured(words, 15).map((each) => Math.max(20, each));
    const whole = widths.reduce((sum, each) => sum + each + GAP, 0);
    if (whole > width) return beside(sentence, words, names, { title, row: WORD_ROW, width, height, view });
    return inLine(sentence, names, { title, widths, whole, view });
  }

  // Words in a line, with the arcs over them and the gold tree below.
  function inLine(sentence, names, { title, widths, whole, view }) {
    const { words, heads, gold } = sentence;
    const rtl = isRightToLeft(words);
    let end = 0;
    const middles = widths.map((each) => {
      const x = end + (each + GAP) / 2;
      end += each + GAP;
      return rtl ? whole - x : x;
    });
    const over = heads && lanes(heads, MOST);
    const under = gold && lanes(gold, MOST);
    const top = over ? over.room : 4;
    const foot = top + 44; // below the words and their shares
    const height = foot + (under ? under.room : 0);
    const nodes = words.map((word, j) =>
      shape("g", { class: "node", role: "img", transform: `translate(${middles[j]} ${top})` },
        shape("rect", { x: -widths[j] / 2 - 4, width: widths[j] + 8, height: 26, rx: 5, "fill-opacity": 0 }),
        shape("text", { y: 18 }, word),
        shape("text", { class: "share", y: 39 })));
    const size = { width: whole, height, viewBox: `0 0 ${whole} ${height}` };
    const drawing = shape("svg", { ...size, role: "group", "aria-label": title },
      over && arcs(over, sentence, middles, (along, out) => `${along} ${top - out}`, "arc"),
      under && arcs(under, {}, middles, (along, out) => `${along} ${foot + out}`, "arc gold"),
      nodes);
    const place = make("div", { class: "drawing wide" }, drawing);
    return figure(sentence, names, nodes, place, { view, forward: rtl ? -1 : 1 });
  }

  // Texts below each other, with the arcs beside them and the gold tree on the other side.
  function beside(tree, texts, names, { title, row, width, height, view, open = null, help }) {
    const middles = texts.map((_, j) => row * (j + 0.5));
    const side = (heads, shown, turned, kind, first, count) => {
      const found = lanes(heads, Math.min(MOST, width / 5));
      const [room, tall] = [found.room + 14, row * count];
      const turn = (along, out) => `${turned ? room - out : out} ${along}`;
      const viewBox = `0 ${row * first} ${room} ${tall}`;
      return shape("svg", { width: room, height: tall, viewBox, "aria-hidden": true },
        arcs(found, shown, middles, turn, kind, 14));
    };
    const nodes = texts.map((text, j) =>
      make(open ? "button" : "span", { ...(open ? { type: "button" } : { role: "img" }), class: "node", title: text },
        make("span", { class: "number" }, `${j + 1}`),
        make("bdi", { class: "text" }, text),
        make("span", { class: "share" })));
    if (open) nodes.forEach((node, j) => node.addEventListener("click", () => open(j)));
    const part = (first, count) => {
      const items = nodes.slice(first, first + count).map((node) => make("li", {}, node));
      const list = make("ol", { "aria-label": title }, items);
      list.style.setProperty("--row", `${row}px`);
      return make("div", { class: "beside" },
        tree.heads && side(tree.heads, tree, true, "arc", first, count),
        list,
        tree.gold && side(tree.gold, {}, false, "arc gold", first, count));
    };
    const most = Math.min(texts.length, Math.max(1, Math.floor(height / row)));
    const parts = [];
    for (let first = 0; first < texts.length; first += most) {
      parts.push(part(first, Math.min(most, texts.length - first)));
    }
    return figure(tree, names, nodes, make("div", { class: "drawing" }, parts), { view, help });
  }

  // A drawing that shows the likely heads of a node on hover, on focus or with the arrow keys.
  function figure(tree, names, nodes, drawing, { view, help = "", forward = 1 }) {
    if (!tree.weights) return make("figure", { class: "tree" }, drawing);
    const told = make("p", { class: "told", "aria-hidden": true }, help);
    const more = make("div", { class: "more" },
      onDemand("As a table", () => table(tree, names)),
      !view && onDemand("As a heat map", () => make("div", {}, heat(tree, names))));
    const made = make("figure", { class: "tree" }, drawing, told, more);
    const drawn = [...drawing.querySelectorAll(".arc:not(.gold)")];
    const arcOf = new Map(drawn.map((arc) => [Number(arc.dataset.node), arc]));
    const tell = (node, share, text) => {
      node.querySelector(".share").textContent = text;
      node.querySelector("rect")?.setAttribute("fill-opacity", 0.4 * share);
      node.style.setProperty("--share", share);
    };
    const clear = () => {
      made.classList.remove("asked");
      for (const part of made.querySelectorAll(".asking")) part.classList.remove("asking");
      for (const node of nodes) tell(node, 0, "");
      told.textContent = help;
    };
    const ask = (j, text = `${names[j]} — likely heads: ${likelyHeads(tree, j, names)}`) => {
      clear();
      made.classList.add("asked");
      nodes[j].classList.add("asking");
      arcOf.get(j)?.classList.add("asking");
      for (const [head, share] of likely(tree, j)) {
        // There is little room below a word, so an arrow stands for the root.
        const root = nodes[j].querySelector("rect") ? "↓" : "root ";
        if (head === ROOT) tell(nodes[j], 0, root + percent(share));
        else tell(nodes[head], share, percent(share));
      }
      told.textContent = text;
    };
    const askArc = (j) => ask(j, arcText(tree, tree.heads[j], j, names));
    arcOf.forEach((arc, j) => arc.addEventListener("pointerenter", () => askArc(j)));
    let current = 0;
    nodes.forEach((node, j) => {
      const head = tree.heads ? `head: ${headName(tree.heads[j], names)}; ` : "";
      const text = node.title ? `${j + 1}: ${node.title}` : names[j];
      node.setAttribute("aria-label", `${text}; ${head}likely heads: ${likelyHeads(tree, j, names)}`);
      node.setAttribute("tabindex", j === 0 ? 0 : -1);
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
      const step = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: 1, ArrowUp: -1 }[event.key];
      const next = { Home: 0, End: nodes.length - 1 }[event.key] ?? (step && current + step);
      if (event.key === "Escape") clear();
      if (next === undefined || !nodes[next]) return;
      event.preventDefault();
      nodes[next].focus();
    });
    return made;
  }

  const percent = (share) => `${Math.round(100 * share)}%`;
  const headName = (head, names) => (head === ROOT ? "root" : names[head]);
  const shareOf = ({ weights }, head, j) => (head === ROOT ? weights.roots[j] : weights.arcs[head][j]);
  const arcText = (tree, i, j, names) => `${headName(i, names)} → ${names[j]}: ${percent(shareOf(tree, i, j))}`;

  // The heads of a node with their probabilities, likeliest first.
  function likely(tree, j) {
    const heads = [ROOT, ...tree.weights.roots.keys()];
    const found = heads.map((head) => [head, shareOf(tree, head, j)]).filter(([, share]) => share >= LEAST);
    return found.sort((a, b) => b[1] - a[1]);
  }

  function likelyHeads(tree, j, names) {
    const found = likely(tree, j);
    const told = found.slice(0, NAMED).map(([head, share]) => `${headName(head, names)} ${percent(share)}`);
    return [...told, ...(found.length > NAMED ? ["…"] : [])].join(", ") || "none above 1%";
  }

  const marginals = (tree, names) =>
    make("figure", { class: "tree" }, heat(tree, names),
      make("div", { class: "more" }, onDemand("As a table", () => table(tree, names))));

  const heat = (tree, names) => [
    make("p", { class: "remark" }, legend(tree)),
    make("div", { class: "drawing wide" }, heatMap(tree, names)),
  ];

  // Details whose content is built when they are first opened.
  function onDemand(summary, build) {
    const details = make("details", {}, make("summary", {}, summary));
    details.addEventListener("toggle", () => details.append(build()), { once: true });
    return details;
  }

  function table(tree, names) {
    const columns = ["", ...(tree.heads ? ["Head"] : []), ...(tree.gold ? ["Gold head"] : []), "Likely heads"];
    const cell = (text) => make("td", {}, make("bdi", {}, text));
    const rows = names.map((name, j) =>
      make("tr", {},
        make("th", { scope: "row" }, make("bdi", {}, name)),
        tree.heads && cell(headName(tree.heads[j], names)),
        tree.gold && cell(headName(tree.gold[j], names)),
        cell(likelyHeads(tree, j, names))));
    return make("table", {},
      make("caption", {}, "Each node with its head in the tree and its likely heads over all trees"),
      make("thead", {}, make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows));
  }

  function legend({ heads, gold }) {
    const parts = ["Heads in rows, dependents in columns, in percent"];
    if (heads) parts.push("solid frames: the tree");
    if (gold) parts.push("dashed frames: the gold tree");
    return `${parts.join("; ")}.`;
  }

  function heatMap(tree, names) {
    const heads = [ROOT, ...names.keys()];
    const texts = names.map((name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name));
    const room = 12 + Math.max(...measured(["root", ...texts], 12));
    const at = (place) => room + CELL * place;
    const cells = heads.flatMap((head, i) =>
      names.map((_, j) => {
        const share = shareOf(tree, head, j);
        const kinds = [tree.heads?.[j] === head && "chosen", tree.gold?.[j] === head && "gold"].filter(Boolean);
        if (share < LEAST && !kinds.length) return null;
        return shape("g", { transform: `translate(${at(j)} ${at(i)})`, "data-share": share },
          shape("title", {}, arcText(tree, head, j, names)),
          shape("rect", { class: "cell", width: CELL - 1, height: CELL - 1, "fill-opacity": SHADE * share }),
          share >= LEAST && shape("text", { x: CELL / 2, y: 16 }, `${Math.round(100 * share)}`),
          kinds.map((kind) =>
            shape("rect", { class: `frame ${kind}`, x: 1, y: 1, width: CELL - 3, height: CELL - 3 })));
      }));
    const [width, height] = [at(names.length) + 4, at(heads.length) + 4];
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    const sideways = (j) => `translate(${at(j) + 16} ${room - 6}) rotate(-90)`;
    const label = "Heat map: probability of the row as the head of the column, in percent; see the table";
    return shape("svg", { class: "heat", ...size, role: "img", "aria-label": label },
      shape("rect",
        { class: "ground", x: room, y: room, width: CELL * names.length - 1, height: CELL * heads.length - 1 }),
      ["root", ...texts].map((text, i) => shape("text", { class: "row", x: room - 6, y: at(i) + 16 }, text)),
      texts.map((text, j) => shape("text", { class: "column", transform: sideways(j) }, text)),
      cells);
  }

  // Arcs from one head to one side share a lane. Shorter lanes are nearer to the nodes, and overlapping lanes have
  // different distances.
  function lanes(heads, most) {
    const found = new Map();
    const key = (node) => `${heads[node]} ${node > heads[node]}`;
    for (const [node, head] of heads.entries()) {
      if (head === ROOT) continue;
      const { first, last } = found.get(key(node)) ?? { first: head, last: head };
      found.set(key(node), { first: Math.min(first, node), last: Math.max(last, node) });
    }
    const used = heads.map(() => 0);
    for (const lane of [...found.values()].sort((a, b) => a.last - a.first - (b.last - b.first))) {
      lane.level = 1 + Math.max(...used.slice(lane.first, lane.last));
      used.fill(lane.level, lane.first, lane.last);
    }
    const levels = Math.max(0, ...used);
    const step = Math.min(18, most / Math.max(1, levels));
    return { heads, room: levels * step + 26, out: (node) => 8 + step * found.get(key(node)).level };
  }

  // `turn` maps a position along the nodes and a distance from them to coordinates.
  function arcs({ heads, room, out }, tree, middles, turn, kind, away = 8) {
    const far = room - 14;
    return heads.map((head, node) => {
      const share = tree.weights ? shareOf(tree, head, node) : 1;
      const isRoot = head === ROOT;
      const [x, y] = turn(middles[node], far + away).split(" ");
      const line = isRoot
        ? `M ${turn(middles[node], far - 6)} L ${turn(middles[node], 6)}`
        : bracket(middles[head], middles[node], out(node), turn);
      const tip = `M ${turn(middles[node], 0)} L ${turn(middles[node] - 3.5, 7)} L ${turn(middles[node] + 3.5, 7)} Z`;
      const known = { "data-node": node, "data-share": share, opacity: 0.3 + 0.7 * share };
      return shape("g", { class: isRoot ? `${kind} root` : kind, ...known },
        shape("path", { class: "hit", d: line }),
        shape("path", { class: "line", d: line, "stroke-width": 1 + 1.4 * share }),
        shape("path", { class: "tip", d: tip }),
        isRoot && shape("text", { x, y, dy: "0.3em" }, "root"));
    });
  }

  // A path with round corners, away from the nodes and back.
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

  const pen = document.createElement("canvas").getContext("2d");

  // The widths of texts in pixels, at this font size.
  function measured(texts, size) {
    pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return texts.map((text) => Math.ceil(pen.measureText(text).width));
  }

  function isRightToLeft(words) {
    const letters = words.join("").match(/\p{L}/gu) ?? [];
    const theirs = letters.filter((letter) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter));
    return 2 * theirs.length > letters.length;
  }

  const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const shape = (name, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  }

  function evidence(ngrams, label) {
    if (!ngrams?.length) return null;
    const one = ({ ngram, kind, weight }) => make("span", { class: weight > 0 ? "for" : "against" },
      make("bdi", {}, `“${ngram}”`), kind !== "words" && make("small", {}, ` ${kind}`),
      make("b", {}, ` ${weight > 0 ? "+" : "−"}${Math.abs(weight).toFixed(2)}`));
    const sides = [["for", 1], ["against", -1]].map(([way, sign]) => {
      const some = ngrams.filter(({ weight }) => sign * weight > 0);
      return some.length > 0 && make("div", {},
        make("dt", {}, `N-grams ${way} `, make("bdi", {}, label)), make("dd", {}, some.map(one)));
    });
    const remark = "What an n-gram adds to the score of the label, minus its mean over all labels.";
    return make("section", { class: "evidence", "aria-label": "N-grams" },
      make("dl", {}, sides), make("p", { class: "remark" }, remark));
  }

  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  return { parsed, overSentences, overWords, evidence, remark, count, make, shape };
})();
