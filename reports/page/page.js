// The script of index.html: the list of all cases, what is said of one, and charts. It makes elements and gives them text;
// no text of a run is ever markup. It asks nothing of any network.
"use strict";
(() => {
  const ROW = 56; // the height of a row in page.css
  const $ = (id) => document.getElementById(id);

  // An element with attributes, handlers and children; nothing stands for none.
  const el = (tag, attributes, ...children) => give(document.createElement(tag), attributes, children);
  function give(element, attributes, children = []) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(9)) if (child !== null && child !== undefined && child !== "") element.append(child);
    return element;
  }

  const number = (value) => value.toLocaleString("en");
  const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

  // A copy of an element of the page's template, which the page without a script is made of too.
  const copyOf = (selector) => $("forms").content.querySelector(selector).cloneNode(true);
  function signed(element, look, text) {
    element.classList.add(look);
    element.querySelector(".sign").textContent = data.signs[look];
    element.append(text);
    return element;
  }
  const badge = (look, text, code) => give(signed(copyOf(".badge"), look, text), { title: code || undefined });

  // ---- Data ----

  async function read(name) {
    const text = $(`data-${name}`).textContent;
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(inflated).text());
  }

  const blocks = new Map(); // the newest few blocks, since somebody who goes from case to case stays near
  function block(name) {
    if (!blocks.has(name)) {
      if (blocks.size > 6) blocks.delete(blocks.keys().next().value);
      blocks.set(name, read(name));
    }
    return blocks.get(name);
  }
  async function entry(kind, firsts, place) {
    let at = firsts.length - 1;
    while (firsts[at] > place) --at;
    return (await block(kind + at))[place - firsts[at]];
  }

  let data; // of the block `list`
  let index;
  let lower; // ids as the search compares them
  const value = (name, i) => (typeof data[name] === "number" ? data[name] : data[name][i]);
  const look = (i) => data.verdicts[value("verdict", i)][3];
  const outcome = (i) => data.verdicts[value("verdict", i)][0];
  const failingFor = (i) => `failing for ${counted(value("age", i), "run")}`;
  const marks = (i) => data.marksets[value("marks", i)];
  const took = (i) => data.durations[value("took", i)];
  const fill = ([before, after], part) => (after === undefined ? before : before + part + after);

  function prepare() {
    data.verdicts = data.verdicts.map((text) => {
      const parts = text.split("\n"); // a reason may be of several lines
      return [parts[0], parts.slice(3).join("\n"), parts[2], parts[1]];
    });
    data.marksets = data.marksets.map((text) => (text ? text.split("\n") : []));
    for (const [name, column] of Object.entries(data)) {
      if (Array.isArray(column) && column.length === data.id.length && typeof column[0] === "number")
        data[name] = Int32Array.from(column);
    }
    lower = data.id.map((id) => id.toLowerCase());
  }

  const verdictText = ([name, , words]) => (words ? `${name} · ${words}` : name);
  const verdictCode = ([name, reason]) => (reason ? `${name}(${reason})` : "");

  // ---- State: what the page shows, which is what stands behind '#' of its address ----

  const EMPTY = { q: "", outcome: "", look: "", suite: "", variant: "", device: "", mark: "", owner: "", cause: "", run: "",
    new: "", sort: "", case: "", of: "" };
  let state = { ...EMPTY };

  function parseState(address = location.hash) {
    const given = [...new URLSearchParams(address.slice(1).replaceAll("+", "%2B"))].filter(([name]) => Object.hasOwn(EMPTY, name));
    return { ...EMPTY, ...Object.fromEntries(given) };
  }
  const stateText = (of) => Object.keys(EMPTY).filter((name) => of[name])
    .map((name) => `${name}=${encodeURIComponent(of[name]).replaceAll("%2F", "/")}`).join("&");
  const isOurs = () => /^#(\w+=|$)/.test(location.hash) || location.hash === "";
  function go(change, push) {
    state = { ...state, ...change };
    const address = `#${stateText(state)}`;
    try {
      history[push ? "pushState" : "replaceState"](null, "", address);
    } catch {
      location.hash = address;
    }
    show();
  }

  // ---- The list ----

  let rows = []; // the numbers of the cases that are shown, in their order
  let active = 0; // which of them has the keyboard
  const list = {};

  const SORTS = {
    "": ["failed first", (i) => (look(i) === "notrun" ? 2 : value("failed", i) ? 0 : value("isFlaky", i) ? 1 : look(i) === "known" ? 3 : 4)],
    plan: ["as planned", null],
    duration: ["longest first", (i) => -value("duration", i)],
    age: ["longest failing first", (i) => -value("age", i)],
    flaky: ["flakiest first", (i) => -Math.max(value("flaky", i), value("isFlaky", i) ? 0 : -1)],
    id: ["by name", null],
  };

  // For each entry of a table, whether it contains the word.
  const hits = (table, word) => table.map((text) => text.toLowerCase().includes(word));

  // All cases in an order, which is made once.
  const orders = new Map();
  function order(sort) {
    const name = Object.hasOwn(SORTS, sort) ? sort : "";
    const [, key] = SORTS[name];
    if (!orders.has(name)) {
      const all = Int32Array.from(data.id, (_, i) => i);
      if (name === "id") all.sort((a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : a - b));
      if (key) {
        const keys = Float64Array.from(data.id, (_, i) => key(i));
        all.sort((a, b) => keys[a] - keys[b] || a - b);
      }
      orders.set(name, all);
    }
    return orders.get(name);
  }

  function hasLook(i) {
    return state.look === "flaky" ? value("isFlaky", i) : look(i) === state.look;
  }

  function select() {
    const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const inMessage = terms.map((word) => hits(data.messages, word));
    const inVerdict = terms.map((word) => hits(data.verdicts.map((v) => `${v[0]}(${v[1]}) ${v[2]}`), word));
    const says = (i) => terms.every((word, w) =>
      lower[i].includes(word) || inMessage[w][value("message", i)] || inVerdict[w][value("verdict", i)]);
    const outcomes = state.outcome ? new Set(state.outcome.split(",")) : null;
    const ofVerdict = data.verdicts.map((v) => !outcomes || outcomes.has(v[0]));
    const suite = state.suite ? data.suites.indexOf(state.suite) : -1;
    const owner = state.owner ? data.owners.indexOf(state.owner) : -1;
    const device = state.device ? data.devices.map((d) => d.split("+").includes(state.device)) : null;
    const mark = state.mark ? data.marksets.map((m) => m.includes(state.mark)) : null;
    const found = [];
    for (const i of order(state.sort)) {
      if (outcomes && !ofVerdict[value("verdict", i)]) continue;
      if (state.look && !hasLook(i)) continue;
      if (state.suite && value("suite", i) !== suite) continue;
      if (state.variant && String(value("variant", i)) !== state.variant) continue;
      if (state.run && String(value("run", i)) !== state.run) continue;
      if (owner >= 0 && (value("owner", i) !== owner || !value("failed", i))) continue;
      if (state.cause && String(value("cause", i)) !== state.cause) continue;
      if (state.new && !value("isNew", i)) continue;
      if (device && !device[value("device", i)]) continue;
      if (mark && !mark[value("marks", i)]) continue;
      if (terms.length && !says(i)) continue;
      found.push(i);
    }
    return found;
  }

  function rowOf(place) {
    const i = rows[place];
    const message = data.messages[value("message", i)];
    const device = data.devices[value("device", i)];
    const side = [value("isNew", i) ? "new" : "", value("age", i) > 1 ? failingFor(i) : "",
      value("flaky", i) > 0 ? `flaky ${(value("flaky", i) / 10).toFixed(1)} %` : "", ...marks(i).filter((mark) => mark !== "flaky"),
      message ? device : ""].filter(Boolean);
    const second = message || [device, value("attempts", i) > 1 ? counted(value("attempts", i), "attempt") : ""].filter(Boolean).join(" · ");
    const row = give(copyOf(".row"), { id: `row-${place}`, role: "option", "aria-selected": String(place === active),
      "aria-posinset": place + 1, "aria-setsize": rows.length, onclick: () => { active = place; openCase(rows[place]); } });
    row.classList.toggle("active", place === active);
    signed(row.querySelector(".badge"), look(i), look(i) === "flaky" ? "flaky" : outcome(i));
    const texts = { ".id": data.id[i], ".time": took(i), p: second, ".side": side.join(" · ") };
    for (const [part, text] of Object.entries(texts)) row.querySelector(part).textContent = text;
    row.style.top = `${place * ROW}px`;
    return row;
  }

  let drawn = [-1, -1];
  function draw(anew) {
    const { port, rowsBox } = list;
    const first = Math.max(0, Math.floor(port.scrollTop / ROW) - 6);
    const last = Math.min(rows.length, Math.ceil((port.scrollTop + port.clientHeight) / ROW) + 6);
    if (!anew && drawn[0] === first && drawn[1] === last) return;
    if (anew) rowsBox.replaceChildren();
    else for (const row of [...rowsBox.children]) {
      const place = Number(row.id.slice(4));
      if (place < first || place >= last) row.remove();
    }
    const there = new Set([...rowsBox.children].map((row) => Number(row.id.slice(4))));
    const fresh = document.createDocumentFragment();
    for (let place = first; place < last; ++place) if (!there.has(place)) fresh.append(rowOf(place));
    rowsBox.append(fresh);
    drawn = [first, last];
    if (rows.length && active >= first && active < last) port.setAttribute("aria-activedescendant", `row-${active}`);
    else port.removeAttribute("aria-activedescendant");
  }

  function moveTo(place) {
    if (!rows.length) return;
    active = Math.min(rows.length - 1, Math.max(0, place));
    const { port } = list;
    const top = active * ROW;
    if (top < port.scrollTop) port.scrollTop = top;
    if (top + ROW > port.scrollTop + port.clientHeight) port.scrollTop = top + ROW - port.clientHeight;
    draw(true);
  }

  function onListKey(event) {
    const page = Math.max(1, Math.floor(list.port.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (Object.hasOwn(steps, event.key)) moveTo(active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") { if (rows.length) openCase(rows[active]); }
    else return;
    event.preventDefault();
  }

  function choice(label, name, options) {
    const box = el("select", { id: `f-${name}`, onchange: (event) => go({ [name]: event.target.value }) },
      options.map(([text, word]) => el("option", { value: word }, text)));
    list.choices.push([name, box]);
    return el("label", { class: "choice", for: `f-${name}` }, el("span", {}, label), box);
  }

  // How many cases have each value, most first.
  function tally(of, only) {
    const counts = new Map();
    for (let i = 0; i < data.id.length; ++i) {
      if (only && !only(i)) continue;
      for (const one of [of(i)].flat()) counts.set(one, (counts.get(one) || 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]);
  }
  const options = (all, counts) => [[all, ""], ...counts.map(([text, count]) => [`${text} (${number(count)})`, text])];

  function build() {
    list.choices = [];
    list.search = el("input", { type: "search", id: "q", placeholder: "Search id, reason, message", autocomplete: "off",
      spellcheck: "false", oninput: (event) => go({ q: event.target.value }) });
    list.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") { list.port.focus(); event.preventDefault(); }
    });
    const suites = tally((i) => data.suites[value("suite", i)]);
    const devices = tally((i) => data.devices[value("device", i)].split("+")).filter(([device]) => device);
    const markCounts = tally((i) => marks(i));
    const owners = tally((i) => data.owners[value("owner", i)], (i) => value("failed", i));
    const outcomes = tally(outcome);
    const chip = (shown, name, count, filter, onclick) =>
      el("button", { type: "button", class: `chip ${shown}`, "aria-pressed": "false", onclick, ...filter },
        badge(shown, "").firstChild, ` ${name} `, el("b", {}, number(count)));
    list.chips = el("div", { class: "chips", role: "group", "aria-label": "Outcomes" }, outcomes.map(([name, count]) =>
      chip(data.looks[name], name, count, { "data-outcome": name }, () => {
        const chosen = new Set(state.outcome.split(",").filter(Boolean));
        if (!chosen.delete(name)) chosen.add(name);
        go({ outcome: [...chosen].join(",") });
      })));
    const flaky = data.id.filter((_, i) => value("isFlaky", i)).length;
    if (flaky) list.chips.append(chip("flaky", "flaky", flaky, { "data-look": "flaky" }, () => go({ look: state.look === "flaky" ? "" : "flaky" })));
    const sorts = Object.entries(SORTS).filter(([name]) => (name !== "age" || has("age", 1)) &&
      (name !== "flaky" || has("flaky", -1) || has("isFlaky", 0)));
    const anyNew = has("isNew", 0);
    list.fresh = el("input", { type: "checkbox", id: "f-new", onchange: (event) => go({ new: event.target.checked ? "1" : "" }) });
    list.status = el("p", { class: "status", role: "status" });
    list.clear = el("button", { type: "button", class: "clear", onclick: () => go({ ...EMPTY, sort: state.sort }) }, "Clear filters");
    list.more = el("p", { class: "filters-more" });
    list.rowsBox = el("div", { class: "rows" });
    list.port = el("div", { class: "port", id: "list", role: "listbox", tabindex: "0", "aria-label": "Cases", onkeydown: onListKey,
      onscroll: () => requestAnimationFrame(() => draw(false)) }, list.rowsBox);
    const controls = el("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "choice wide", for: "q" }, el("span", {}, "Search"), list.search), list.chips,
      el("div", { class: "choices" },
        suites.length > 1 ? choice("Suite", "suite", options("all suites", suites)) : null,
        devices.length > 1 ? choice("Device", "device", options("all devices", devices)) : null,
        markCounts.length ? choice("Mark", "mark", options("any mark", markCounts)) : null,
        owners.length ? choice("Owner", "owner", options("all owners", owners)) : null,
        data.runs.length > 1 ? choice("Run", "run", [["all runs", ""], ...data.runs.map((run, i) => [run.id, String(i)])]) : null,
        choice("Sort", "sort", sorts.map(([name, [text]]) => [text, name])),
        anyNew ? el("label", { class: "check", for: "f-new" }, list.fresh, " new only") : null));
    const box = $("explorer");
    box.append(controls, el("div", { class: "bar" }, list.status, list.more, list.clear), list.port);
    box.hidden = false;
    document.documentElement.classList.add("scripted");
    new ResizeObserver(() => draw(false)).observe(list.port);
  }
  // Whether some case has another value than that of most.
  const has = (name, none) => (typeof data[name] === "number" ? data[name] > none : data[name].some((one) => one > none));

  let shownFilter = null;
  function show() {
    const filter = stateText({ ...state, case: "", of: "" });
    if (filter !== shownFilter) {
      shownFilter = filter;
      rows = select();
      active = 0;
      list.port.scrollTop = 0;
      list.rowsBox.style.height = `${rows.length * ROW}px`;
      list.port.style.height = `min(72vh, 44rem, ${Math.max(1, rows.length) * ROW + 1}px)`;
      draw(true);
      list.status.textContent = rows.length === data.id.length ? counted(rows.length, "case")
        : `${number(rows.length)} of ${counted(data.id.length, "case")}`;
      list.clear.hidden = !stateText({ ...state, case: "", of: "", sort: "" });
      const more = [];
      if (state.cause) more.push("of one cause");
      if (state.variant) more.push(`of ${data.variants[state.variant] || "?"}`);
      if (state.look) more.push(state.look === "notrun" ? "not run" : state.look);
      list.more.textContent = more.join(", ");
      if (list.search.value !== state.q) list.search.value = state.q;
      for (const [name, box] of list.choices) box.value = state[name];
      list.fresh.checked = state.new === "1";
      const chosen = new Set(state.outcome.split(","));
      for (const chip of list.chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.look ? state.look === "flaky" : chosen.has(chip.dataset.outcome)));
    }
    showCase();
  }

  // ---- One case ----

  let dialog;
  let shownCase = "";
  let before = null; // who had the keyboard

  const stateOfCase = (i) => ({ case: data.id[i], of: data.runs.length > 1 ? String(value("run", i)) : "" });
  const isShown = (i) => data.id[i] === state.case && (!state.of || String(value("run", i)) === state.of);
  const openCase = (i) => go(stateOfCase(i), true);
  const closeCase = () => { if (state.case) go({ case: "", of: "" }, true); };
  function step(by) {
    const next = rows.findIndex(isShown) + by;
    if (next < 0 || next >= rows.length) return;
    moveTo(next);
    go(stateOfCase(rows[next]));
  }

  async function showCase() {
    const wanted = state.case ? `${state.of}\n${state.case}` : "";
    if (wanted === shownCase) return;
    shownCase = wanted;
    if (!wanted) {
      if (dialog && dialog.open) dialog.close();
      if (before && before.isConnected) before.focus();
      before = null;
      return;
    }
    if (!dialog) {
      dialog = el("dialog", { "aria-labelledby": "case-id" });
      dialog.addEventListener("cancel", (event) => { event.preventDefault(); closeCase(); });
      dialog.addEventListener("click", (event) => { if (event.target === dialog) closeCase(); });
      dialog.addEventListener("keydown", (event) => {
        if (event.target.closest("pre,select,input") || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "j" || event.key === "ArrowRight") step(1);
        if (event.key === "k" || event.key === "ArrowLeft") step(-1);
      });
      document.body.append(dialog);
    }
    const i = data.id.findIndex((_, at) => isShown(at));
    const content = i < 0
      ? [el("div", { class: "case-head" }, el("h2", { id: "case-id", class: "id" }, state.case), closeButton()),
        el("p", {}, "This page has no such case.")]
      : await caseView(i);
    if (shownCase !== wanted) return; // another one was chosen meanwhile
    if (!dialog.open) {
      before = document.activeElement;
      dialog.showModal();
    }
    dialog.replaceChildren(el("div", { class: "case" }, content));
    dialog.scrollTop = 0;
    dialog.querySelector(".close").focus();
  }

  const closeButton = () => el("button", { type: "button", class: "close", onclick: closeCase, "aria-label": "Close" }, "✕");

  function copyButton(text, what) {
    const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = el("textarea", { "aria-hidden": "true" });
        area.value = text;
        button.after(area);
        area.select();
        document.execCommand("copy");
        area.remove();
        button.focus();
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    return button;
  }
  const command = (text, what) =>
    el("div", { class: "command-box" }, el("pre", { class: "command", tabindex: "0", "aria-label": what }, text), copyButton(text, what));

  const facts = (...pairs) => {
    const said = pairs.filter(([, text]) => text !== "" && text !== undefined && text !== null && text !== false);
    return said.length ? el("dl", {}, said.map(([name, text, href]) => [el("dt", {}, name), el("dd", {}, href ? el("a", { href }, text) : text)])) : null;
  };
  const part = (title, ...children) => {
    const inside = children.flat(9).filter((child) => child);
    return inside.length ? el("section", {}, el("h3", {}, title), inside) : null;
  };

  function link(run, address, text) {
    return run.link === null || run.link === undefined ? el("code", {}, address) : el("a", { href: run.link + address }, text || address);
  }

  async function caseView(i) {
    const run = data.runs[value("run", i)];
    const place = value("detail", i) - 1;
    const more = place >= 0 && place < index.details ? await entry("details", index.detailsFirst, place) : null;
    const [rule, source] = (data.rules[value("rule", i)] || "\n").split("\n");
    const id = data.id[i];
    const quoted = data.quotes[value("quoted", i)] || id;
    const rerun = fill(data.reruns[value("rerun", i)], quoted);
    const isBuiltIn = data.kinds[value("kind", i)] === "proctor";
    const message = data.messages[value("message", i)];
    return [
      el("div", { class: "case-head" },
        el("h2", { id: "case-id", class: "id" }, id),
        el("div", { class: "steps" },
          el("button", { type: "button", onclick: () => step(-1), "aria-label": "The case before" }, "↑"),
          el("button", { type: "button", onclick: () => step(1), "aria-label": "The next case" }, "↓"), closeButton())),
      el("p", { class: "case-verdict" }, badge(look(i), look(i) === "flaky" ? "flaky" : verdictText(data.verdicts[value("verdict", i)]), verdictCode(data.verdicts[value("verdict", i)])), " ",
        value("isNew", i) ? badge("failed", "new") : "", " ", marks(i).map((mark) => [el("span", { class: "mark" }, mark), " "])),
      message ? el("p", { class: "case-message" }, message) : null,
      more && more.note ? el("p", {}, more.note) : null,
      facts(...(more ? more.facts : [["Owner", value("failed", i) ? data.owners[value("owner", i)] : ""],
        ["History", value("age", i) > 1 ? failingFor(i) : ""]]),
        ["On", data.variants[value("variant", i)]], ["Device", data.devices[value("device", i)]],
        ["Took", took(i) + (value("attempts", i) > 1 ? `, ${counted(value("attempts", i), "attempt")}` : "")],
        ["Run", data.runs.length > 1 ? run.id : ""]),
      part("Run it again", command(rerun, "the command that runs it again"),
        el("p", { class: "quiet" }, "In ", el("code", {}, run.directory))),
      place >= 0 && !more ? el("p", { class: "quiet" }, "Its attempts were left out of this page, which is full: report.json has them.") : null,
      more ? part(more.attempts.length === 1 ? "Attempt" : "Attempts", await Promise.all(more.attempts.map((one) => attemptView(run, one)))) : null,
      !more && value("log", i) ? part("Log", el("p", {}, link(run, fill(data.logs[value("log", i)], data.addresses[value("address", i)] || id.slice(id.indexOf("/") + 1)), "The whole log"))) : null,
      more && more.measures.length ? part("Measures", el("table", {}, el("tbody", {}, more.measures.map(([name, one, unit, n, spread]) =>
        el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "n" }, `${one} ${unit}`),
          el("td", {}, n > 1 ? `of ${n}, spread ${spread}` : "")))))) : null,
      more ? part("What it recorded", facts(...more.properties)) : null,
      await pastView(i, more),
      part("About it", facts(["Rule", rule], ["Source", source], ["Diagnosis", more && more.diagnosis],
        ["Suite", data.suites[value("suite", i)]]),
        isBuiltIn ? command(`proctor explain ${quoted}`, "the command that explains it") : null,
        more && more.diagnosis ? command(`proctor explain ${more.explain}`, "the command that explains the diagnosis") : null),
    ];
  }

  async function logView(run, one) {
    const tail = one.tail === undefined ? null : await entry("logs", index.logsFirst, one.tail);
    if (!tail && !one.log) return null;
    return el("div", { class: "log" },
      tail ? el("pre", { tabindex: "0", "aria-label": "The end of its log" }, tail.text) : null,
      one.log ? el("p", {}, tail && !tail.all ? "That is the end of it. " : "", link(run, one.log, tail ? "The whole log" : "Its log")) : null);
  }

  async function attemptView(run, one) {
    return el("article", { class: `attempt ${one.look}` },
      el("h4", {}, `${one.repeat ? `Repeat ${one.repeat}, attempt` : "Attempt"} ${one.n} `, badge(one.look, one.verdict, one.code), one.took ? ` ${one.took}` : ""),
      facts(...one.facts),
      (one.failures || []).map((failure) => el("div", { class: "failure" }, el("p", {}, failure.message), facts(...failure.facts))),
      one.moreFailures ? el("p", {}, `and ${number(one.moreFailures)} more`) : null,
      one.evidence ? el("div", {}, el("h5", {}, "Evidence"), el("pre", { tabindex: "0", "aria-label": "Evidence" }, one.evidence),
        one.evidenceFile ? el("p", {}, link(run, one.evidenceFile, "All of it")) : null) : null,
      await logView(run, one),
      one.ranks ? el("div", { class: "ranks" }, el("h5", {}, "Ranks"), await Promise.all(one.ranks.map(async (rank) =>
        el("details", { open: rank.look === "failed" }, el("summary", {}, `Rank ${rank.n} `, badge(rank.look, rank.verdict, rank.code)),
          facts(...rank.facts), await logView(run, rank))))) : null);
  }

  // ---- Its past, and charts ----

  async function pastView(i, more) {
    const place = value("past", i);
    if (!place || !$("data-past")) return null;
    const past = await block("past");
    const runs = past.runs[value("run", i)];
    const points = past.cases[place].split(",").map((code, at) => {
      const run = runs[code >> 5];
      const name = past.outcomes[(code & 31) >> 1];
      const ms = more && more.pastMs ? more.pastMs[at] : undefined;
      return { look: data.looks[name], name: code & 1 ? `${name}, flaky` : name, run, value: ms,
        took: ms === undefined ? "" : ` · ${more.pastTook[at]}` };
    });
    points.push({ look: look(i), name: outcome(i), run: [data.runs[value("run", i)].id, data.runs[value("run", i)].started, "", "", ""],
      value: value("duration", i), took: ` · ${took(i)}` });
    const flaky = more && more.flakiness;
    return part(`Its last ${points.length} outcomes`,
      chart(points.map((point) => ({ look: point.look, value: point.value,
        title: `${point.name} · ${point.run[1]}${point.took}` })),
        `Outcomes of the last ${points.length} runs, the newest at the right`),
      flaky ? el("p", {}, `Flaky: ${flaky[1]} of ${flaky[0]} runs disagree, ${(100 * flaky[2]).toFixed(0)} to ${(100 * flaky[3]).toFixed(0)} % (95 %).`) : null,
      el("details", {}, el("summary", {}, "Each of them, with its stack"), el("ol", { class: "past", reversed: true }, points.reverse().map((point) =>
        el("li", {}, badge(point.look, point.name), " ", point.run[1], point.run[2] ? [" · ", el("code", {}, point.run[2].slice(0, 12))] : "",
          point.run[3] ? ` ${point.run[3]}` : "", point.took,
          point.run[4] ? el("strong", {}, ` · ${point.run[4]}`) : "")))));
  }

  // How many cases failed, run by run.
  async function trend() {
    if (data.runs.length > 1 || !$("data-past")) return;
    const past = await block("past");
    const points = past.failed[0].map((count, at) => ({ count, started: past.runs[0][at][1], moved: past.runs[0][at][4] }));
    if (!points.length) return;
    points.push({ count: data.id.filter((_, i) => look(i) === "failed").length, started: data.runs[0].started, moved: "" });
    $("changes").append(el("p", { class: "quiet" }, `Failed cases in the last ${points.length} runs, the newest at the right:`),
      chart(points.slice(-80).map((point) => ({ look: point.count ? "failed" : "passed", value: point.count,
        title: `${counted(point.count, "case")} failed · ${point.started}${point.moved ? ` · ${point.moved}` : ""}` })),
      "How many cases failed in each run"));
  }

  // The only chart: bars from left to right, each with the colour and the sign of how it ended, as high as its value.
  function chart(points, label) {
    const svg = (tag, attributes, ...children) => give(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
    const WIDTH = 14, HEIGHT = 56, SIGN = 16;
    const most = Math.max(1, ...points.map((point) => point.value || 0));
    const bars = points.map((point, at) => {
      const high = point.value === undefined ? HEIGHT : Math.max(3, Math.round((HEIGHT * point.value) / most));
      return svg("g", { class: point.look }, svg("title", {}, point.title),
        svg("rect", { x: at * WIDTH + 1, y: HEIGHT - high, width: WIDTH - 2, height: high, rx: 1.5 }),
        svg("text", { x: at * WIDTH + WIDTH / 2, y: HEIGHT + SIGN - 3, "text-anchor": "middle" }, data.signs[point.look]));
    });
    const width = points.length * WIDTH;
    return el("div", { class: "chart", tabindex: "0", role: "group", "aria-label": label },
      svg("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${HEIGHT + SIGN}`, width, height: HEIGHT + SIGN }, ...bars));
  }

  // ---- Start ----

  async function start() {
    if (typeof DecompressionStream === "undefined") return; // the plain page stays
    [data, index] = await Promise.all([read("list"), read("index")]);
    prepare();
    build();
    // Cases below an acceptance are folded until somebody goes to one of them.
    const folded = $("details");
    const unfold = (id) => {
      const target = id && $(id);
      if (folded && (!target || folded.contains(target) || target === folded)) folded.open = true;
    };
    const fromAddress = () => {
      if (!isOurs()) return; // a link within the page
      state = parseState();
      show();
    };
    // A link to a case keeps the filters that are set, any other is all of them.
    document.addEventListener("click", (event) => {
      const within = event.target.closest && event.target.closest("a[href^='#']:not([href*='='])");
      if (within) unfold(within.getAttribute("href").slice(1));
      const anchor = event.target.closest && event.target.closest("a[href^='#'][href*='=']");
      if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const wanted = parseState(anchor.getAttribute("href"));
      if (wanted.case) return go({ case: wanted.case, of: wanted.of }, true);
      unfold("");
      go(wanted, true);
      $("cases").scrollIntoView();
      list.port.focus({ preventScroll: true });
    });
    addEventListener("hashchange", fromAddress);
    addEventListener("popstate", fromAddress);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input,select,textarea,dialog")) {
        unfold("");
        list.search.focus();
        event.preventDefault();
      }
    });
    for (const box of document.querySelectorAll("[data-copy]"))
      box.append(copyButton(box.querySelector("pre").textContent, "the command that runs it again"));
    state = isOurs() ? parseState() : { ...EMPTY };
    show();
    await trend();
    if (location.hash && isOurs()) unfold("");
    if (location.hash && isOurs() && !state.case) $("cases").scrollIntoView();
    document.documentElement.dataset.ready = "yes";
  }
  start();
})();
