// Draws the charts of the page "Benchmarks" from window.parallelPoolResults (chart-data.js).
"use strict";

(() => {
  const place = document.getElementById("charts");
  const machines = window.parallelPoolResults;
  if (!place || !machines) return;

  const MEASURES = {
    value: { title: "as measured" },
    cpu: { title: "CPU time of a step", unit: "µs of CPU time per step, all threads and processes" },
  };
  const ROW = 38, BAR = 12, GAME_ROW = 34;
  const state = { machine: 0, group: "", measure: "value" };
  const tip = element("div", { class: "chart-tip", role: "status" });

  function element(tag, attributes = {}, ...children) {
    const it = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) it.setAttribute(name, value);
    it.append(...children);
    return it;
  }

  function svg(tag, attributes = {}, text = "") {
    const it = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) it.setAttribute(name, value);
    it.textContent = text;
    return it;
  }

  // three digits, with k and M, as in the tables
  function short(value) {
    const [factor, suffix] = value >= 1e6 ? [1e6, " M"] : value >= 1e4 ? [1e3, " k"] : [1, ""];
    return `${Number((value / factor).toPrecision(3)).toLocaleString("en")}${suffix}`;
  }

  function spread([low, median, high], unit) {
    return `${short(median)} ${unit} (quartiles ${short(low)} to ${short(high)})`;
  }

  // ------------------------------------------------------------------------------ one chart --

  function chart(scene) {
    const bars = scene.series.length ? barsOfGames(scene) : barsOfRows(scene);
    if (!bars.length) return null;
    const width = Math.max(240, place.clientWidth);
    const height = bars.reduce((sum, bar) => sum + bar.height, 0);
    const most = Math.max(...bars.map((bar) => bar.value[2]));
    const room = width - 76; // for the number behind the longest bar
    const picture = svg("svg", { width, height, role: "img", "aria-label": scene.title });
    let y = 0;
    for (const bar of bars) {
      picture.append(drawn(bar, y, (value) => (value / most) * room));
      y += bar.height;
    }
    const unit = scene.series.length ? "" : ` ${MEASURES[state.measure].unit || scene.unit}`;
    const caption = element("figcaption", {}, element("strong", {}, scene.title), unit);
    scene.series.forEach((text, i) => {
      caption.append(element("div", { class: `chart-key series-${i}` }, text));
    });
    const note = element("p", { class: "chart-note" }, scene.note);
    return element("figure", { class: "chart" }, caption, picture, note);
  }

  function barsOfRows(scene) {
    const unit = MEASURES[state.measure].unit || scene.unit;
    return scene.rows
      .filter((row) => row[state.measure])
      .map((row) => ({
        label: row.who,
        detail: row.setting,
        value: row[state.measure],
        series: row.ours ? 0 : 1,
        height: ROW,
        text: [
          `${row.who}, ${row.setting}`,
          spread(row[state.measure], unit),
          ...Object.entries(row.ratios).map(
            ([who, ratio]) => `${who} is ${short(ratio[1])} times as fast`
          ),
        ],
      }));
  }

  function barsOfGames(scene) {
    if (state.measure !== "value") return [];
    const first = (row) => Object.values(row.ratios)[0][1];
    return [...scene.rows]
      .sort((one, other) => first(other) - first(one))
      .flatMap((row) =>
        Object.values(row.ratios).map((ratio, i) => ({
          label: i ? "" : row.who,
          detail: "",
          value: ratio,
          series: i,
          height: i ? BAR + 2 : GAME_ROW,
          text: [row.who, `${scene.series[i]}: ${spread(ratio, "times")}`],
        }))
      );
  }

  function drawn(bar, y, scale) {
    const [low, median, high] = bar.value;
    const group = svg("g", { tabindex: 0, class: `series-${bar.series}` });
    const top = y + bar.height - BAR - 4;
    if (bar.label) {
      const label = svg("text", { x: 0, y: top - 5, class: "who" }, bar.label);
      label.append(svg("tspan", { class: "detail", dx: 6 }, bar.detail));
      group.append(label);
    }
    group.append(
      svg("rect", { x: 0, y: top, width: Math.max(1, scale(median)), height: BAR, rx: 2 }),
      svg("line", { x1: scale(low), x2: scale(high), y1: top + BAR / 2, y2: top + BAR / 2 }),
      svg("text", { x: scale(high) + 6, y: top + BAR - 2, class: "number" }, short(median))
    );
    const show = (event) => showTip(bar.text, event);
    for (const name of ["mousemove", "focus"]) group.addEventListener(name, show);
    for (const name of ["mouseleave", "blur"]) {
      group.addEventListener(name, () => tip.classList.remove("shown"));
    }
    return group;
  }

  function showTip(lines, event) {
    tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
    const box = event.currentTarget.getBoundingClientRect();
    const x = event.clientX ?? box.left;
    const y = event.clientY ?? box.top;
    tip.classList.add("shown");
    tip.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(y + 16, innerHeight - tip.offsetHeight - 8)}px`;
  }

  // ------------------------------------------------------------------------------- the page --

  function choice(title, options, chosen, change) {
    const select = element("select", { "aria-label": title });
    for (const [value, text] of options) {
      select.append(new Option(text, value, false, String(value) === String(chosen)));
    }
    select.addEventListener("change", () => {
      change(select.value);
      draw();
    });
    return element("label", {}, `${title} `, select);
  }

  function draw() {
    const machine = machines[state.machine];
    const groups = [...new Set(machine.scenes.map((scene) => scene.group))];
    if (!groups.includes(state.group)) {
      state.group = groups.includes("Classic control") ? "Classic control" : groups[0];
    }
    const bar = element(
      "div",
      { class: "chart-choices" },
      choice("Machine", machines.map((it, i) => [i, it.name]), state.machine, (value) => {
        state.machine = Number(value);
      }),
      choice("Environments", groups.map((it) => [it, it]), state.group, (value) => {
        state.group = value;
      }),
      choice(
        "Figure",
        Object.entries(MEASURES).map(([name, it]) => [name, it.title]),
        state.measure,
        (value) => {
          state.measure = value;
        }
      )
    );
    const figures = machine.scenes.filter((scene) => scene.group === state.group).map(chart);
    const versions = element(
      "p",
      { class: "chart-note" },
      `${machine.versions}. `,
      element("a", { href: `results/${machine.page}` }, "The same as tables")
    );
    const legend = element(
      "p",
      { class: "chart-note" },
      "Bars end at the median; orange lines span the quartiles. Bars of parallel_pool are blue."
    );
    tip.classList.remove("shown");
    place.replaceChildren(bar, legend, ...figures.filter(Boolean), versions, tip);
  }

  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth !== width) {
      width = place.clientWidth;
      draw();
    }
  }).observe(place);
})();
