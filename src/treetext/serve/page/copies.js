"use strict";
// Export from the page: CoNLL-U, pictures, the clipboard, files.

const copies = (() => {
  const SHAPE = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray"];
  const LETTERS = ["fill", "font-family", "font-size", "font-weight", "text-anchor"];
  const LOOKS = { g: ["opacity"], rect: SHAPE, path: SHAPE, text: LETTERS };
  const EDGE = 8; // margin of a picture
  const GEOMETRY = ["d", "dy", "height", "rx", "transform", "viewBox", "width", "x", "y"];

  // The same as `treetext parse --format conllu`.
  function conllu({ label, heads, sentences }) {
    const blocks = sentences.map((sentence, i) => [
      ...(i === 0 ? ["# newdoc id = 1", `# label = ${label}`] : []),
      `# sent_id = 1-${i + 1}`,
      `# text = ${sentence.words.join(" ")}`,
      ...(heads ? [`# sent_head = ${heads[i] < 0 ? "root" : `1-${heads[i] + 1}`}`] : []),
      ...sentence.words.map((word, j) => row(word, j, sentence.heads?.[j])),
    ]);
    return blocks.map((lines) => `${lines.join("\n")}\n\n`).join("");
  }

  function row(word, j, head) {
    const [parent, relation] = head === undefined ? ["_", "_"] : [head + 1, head < 0 ? "root" : "dep"];
    return [j + 1, word, "_", "_", "_", "_", parent, relation, "_", "_"].join("\t");
  }

  // A figure of trees.js as it appears, as a self-contained SVG.
  function picture(figure) {
    const drawing = figure.querySelector(".drawing");
    const frame = drawing.getBoundingClientRect();
    const place = ({ left, top }) => ({
      x: left - frame.left + drawing.scrollLeft,
      y: top - frame.top + drawing.scrollTop,
    });
    let width = 0;
    const parts = [...drawing.querySelectorAll("svg, ol .number, ol .text")].map((part) => {
      const box = part.getBoundingClientRect();
      const { x, y } = place(box);
      width = Math.max(width, x + part.scrollWidth, x + box.width);
      if (part.localName === "svg") return drawn(part, { x, y });
      const style = getComputedStyle(part);
      const letters = { fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize };
      const isNumber = part.matches(".number");
      const anchor = isNumber ? { x: x + box.width, "text-anchor": "end" } : { x };
      return trees.shape("text", { ...anchor, y: y + box.height / 2, dy: "0.35em", ...letters }, part.textContent);
    });
    const size = { width: Math.ceil(width) + 2 * EDGE, height: drawing.scrollHeight + 2 * EDGE };
    const ground = { x: -EDGE, y: -EDGE, ...size, fill: getComputedStyle(document.body).backgroundColor };
    const viewBox = `${-EDGE} ${-EDGE} ${size.width} ${size.height}`;
    const whole = trees.shape("svg", { ...size, viewBox }, trees.shape("rect", ground), parts);
    return new XMLSerializer().serializeToString(whole);
  }

  // A copy with its computed style as attributes; null if it is hidden.
  function drawn(element, more = {}) {
    if (element.localName === "title") return element.cloneNode(true);
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || element.matches(".hit, text:empty")) return null;
    const attributes = {};
    for (const name of LOOKS[element.localName] ?? []) attributes[name] = style.getPropertyValue(name);
    for (const name of GEOMETRY) attributes[name] = element.getAttribute(name);
    const copied = (child) => (child.nodeType === Node.TEXT_NODE ? child.data : drawn(child));
    const inside = [...element.childNodes].map(copied);
    return trees.shape(element.localName, { ...attributes, ...more }, inside);
  }

  // Browsers give the clipboard only to local pages and over HTTPS; other pages may still copy a selection.
  async function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = trees.make("textarea", { class: "unseen" });
    const before = document.activeElement;
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before?.focus();
    if (!done) throw new Error("this browser does not allow it");
  }

  function save(name, text, type) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    trees.make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address));
  }

  return { conllu, picture, copy, save };
})();
