"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const sync = uPlot.sync("time");
  const drawn = [];

  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const font = "12px system-ui, sans-serif";
  const seconds = (v) => (v == null ? "–" : v.toFixed(v < 10 ? 3 : 1) + " s");
  const ms = (v) => {
    if (v == null) return "–";
    if (v === 0) return "0";
    if (v >= 1000) return (v / 1000).toPrecision(3) + " s";
    return v >= 1 ? v.toPrecision(3) + " ms" : (v * 1000).toPrecision(3) + " µs";
  };

  const axis = (extra) => Object.assign({
    stroke: color("soft"), font, grid: { stroke: color("grid"), width: 1 },
    ticks: { stroke: color("grid"), width: 1 },
  }, extra);

  // Marks are drawn under the lines: they explain, the steps are the subject.
  const background = (chart) => (u) => {
    const c = u.ctx, { left, top, width, height } = u.bbox;
    const at = (x) => u.valToPos(x, "x", true);
    const ratio = devicePixelRatio;
    c.save();
    c.beginPath(); c.rect(left, top, width, height); c.clip();
    for (const span of chart.spans || []) {
      const a = at(span.from), b = at(span.to);
      c.strokeStyle = color("unknown"); c.lineWidth = ratio;
      c.save(); c.beginPath(); c.rect(a, top, b - a, height); c.clip(); c.beginPath();
      for (let x = a - height; x < b; x += 8 * ratio) { c.moveTo(x, top + height); c.lineTo(x + height, top); }
      c.globalAlpha = 0.45; c.stroke(); c.restore();
    }
    for (const mark of chart.marks || []) {
      const x = at(mark.x);
      if (mark.kind === "epoch") {
        c.fillStyle = color("epoch"); c.globalAlpha = 0.55; c.fillRect(x, top, ratio, height);
      } else if (mark.kind === "validation") {
        c.fillStyle = color("validation"); c.globalAlpha = 0.22;
        c.fillRect(x, top, Math.max(2 * ratio, at(mark.to) - x), height);
      } else if (mark.kind === "compile") {
        c.fillStyle = color("compile"); c.globalAlpha = 1;
        c.beginPath(); c.arc(x, top + 6 * ratio, 3.5 * ratio, 0, 7); c.fill();
      } else {
        c.fillStyle = color("contention"); c.globalAlpha = 1; const s = 4.5 * ratio;
        c.beginPath(); c.moveTo(x, top + 14 * ratio); c.lineTo(x + s, top + 14 * ratio + 2 * s);
        c.lineTo(x - s, top + 14 * ratio + 2 * s); c.fill();
      }
    }
    c.restore();
  };

  const tellEvent = (chart, line) => (u) => {
    const { left } = u.cursor;
    let best = null, near = 9;
    for (const mark of left < 0 ? [] : chart.marks || []) {
      const distance = Math.abs(u.valToPos(mark.x, "x") - left);
      if (distance < near) { near = distance; best = mark; }
    }
    line.textContent = best ? best.text : "";
  };

  const size = (holder, height) => ({ width: Math.max(240, holder.clientWidth), height });

  // All plots begin with the time of the training, so that they stand under each other.
  const range = (chart) => {
    const min = chart.x[0], max = chart.x[chart.x.length - 1];
    const pad = Math.max(0.001, (max - min) * 0.01);
    return { min: min - pad, max: max + pad };
  };

  const drawSteps = (chart) => {
    const holder = document.getElementById(chart.id);
    if (!holder) return;
    const series = [{ label: "time", value: (u, v) => seconds(v) }];
    const values = [chart.x];
    const bands = [];
    const dots = chart.x.length <= 400;
    const add = (label, y, options) => {
      series.push(Object.assign({ label, value: (u, v) => ms(v), spanGaps: false }, options));
      values.push(y);
    };
    if (chart.low) {
      add("longest", chart.high, { stroke: color("step"), width: 0.5, points: { show: false } });
      add("shortest", chart.low, { stroke: color("step"), width: 0.5, points: { show: false } });
      bands.push({ series: [1, 2], fill: color("step") + "33" });
    }
    add("one " + chart.unit, chart.line, {
      stroke: color("step"), width: 1.5, points: { show: dots, size: 4, fill: color("step") },
    });
    if (chart.wait) {
      add("of it waiting for data", chart.wait, {
        stroke: color("wait"), width: 1, fill: color("wait") + "55", points: { show: false },
      });
    }
    const event = document.createElement("p");
    event.className = "event";
    const plot = new uPlot({
      ...size(holder, 280), series, bands,
      cursor: { sync: { key: sync.key, scales: ["x", null] }, drag: { x: true, y: false } },
      scales: {
        x: { time: false },
        y: { range: (u, low, high) => [0, Math.min(high || 1, chart.top) || 1] },
      },
      axes: [
        axis({ values: (u, ticks) => ticks.map((t) => t + " s") }),
        axis({ size: 62, values: (u, ticks) => ticks.map(ms) }),
      ],
      hooks: { drawAxes: [background(chart)], setCursor: [tellEvent(chart, event)] },
    }, values, holder);
    plot.setScale("x", range(chart));
    holder.append(event);
    drawn.push({ plot, holder, height: 280, id: chart.id });
  };

  const drawResource = (chart, first) => {
    const holder = document.getElementById("resource-" + chart.name);
    if (!holder) return;
    const strokes = ["accent", "soft", "callbacks", "validation", "startup"];
    const plot = new uPlot({
      ...size(holder, 130),
      cursor: { sync: { key: sync.key, scales: ["x", null] } },
      series: [{ label: "time", value: (u, v) => seconds(v) }].concat(chart.series.map((s, i) => ({
        label: s.label, stroke: color(strokes[i % strokes.length]), width: 1.5, points: { show: false },
        value: (u, v) => (v == null ? "–" : v.toPrecision(3)),
      }))),
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, (high || 1) * 1.1] } },
      axes: [axis({ values: (u, ticks) => ticks.map((t) => t + " s") }), axis({ size: 62 })],
      hooks: { drawAxes: [background({ spans: first ? first.spans : [], marks: [] })] },
    }, [chart.x, ...chart.series.map((s) => s.y)], holder);
    if (first) plot.setScale("x", range(first));
    drawn.push({ plot, holder, height: 130, id: data.steps.length ? data.steps[0].id : "" });
  };

  const draw = () => {
    for (const { plot, holder } of drawn.splice(0)) { plot.destroy(); holder.replaceChildren(); }
    data.steps.forEach(drawSteps);
    data.resources.forEach((chart) => drawResource(chart, data.steps[0]));
    root.dataset.plots = String(drawn.length);
  };

  // For fingers and keyboards, which cannot drag over a plot.
  const zoom = (id, button) => {
    const group = drawn.filter((each) => each.id === id);
    if (!group.length) return;
    const ends = group.flatMap(({ plot }) => [plot.data[0][0], plot.data[0][plot.data[0].length - 1]]);
    const first = Math.min(...ends), last = Math.max(...ends);
    const { min, max } = group[0].plot.scales.x, width = max - min;
    const grow = Number(button.dataset.zoom || 1), move = Number(button.dataset.move || 0) * width;
    const middle = (min + max) / 2 + move, half = (width * grow) / 2;
    const to = button.dataset.all ? { min: first, max: last }
      : { min: Math.max(first, middle - half), max: Math.min(last, middle + half) };
    if (to.max > to.min) group.forEach(({ plot }) => plot.setScale("x", to));
  };
  for (const bar of document.querySelectorAll(".zoom")) {
    bar.hidden = false;
    for (const button of bar.children) {
      button.addEventListener("click", () => zoom("steps-" + bar.dataset.plot, button));
    }
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const button = document.getElementById("theme");
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", button.textContent + " colours"); };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark"; name(); draw();
  });
  dark.addEventListener("change", () => { name(); draw(); });

  let chosen, closed = [];
  addEventListener("beforeprint", () => {
    chosen = root.dataset.theme; root.dataset.theme = "light";
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((each) => { each.open = true; });
    draw();
  });
  addEventListener("afterprint", () => {
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
    closed.forEach((each) => { each.open = false; });
    draw();
  });
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => drawn.forEach(({ plot, holder, height }) => plot.setSize(size(holder, height))), 100);
  });
  name(); draw();

  // Before against after: the slider moves the line between the two pictures.
  for (const figure of document.querySelectorAll("[data-compare]")) {
    const slide = figure.querySelector(".slide"), input = slide.querySelector("input");
    const show = () => {
      const at = Number(input.value);
      figure.style.setProperty("--at", at + "%");
      const words = at === 0 ? "only after" : at === 100 ? "only before"
        : at === 50 ? "half before, half after" : at + " % before, " + (100 - at) + " % after";
      input.setAttribute("aria-valuetext", words);
    };
    input.addEventListener("input", show);
    slide.hidden = false; show();
  }

  // The account: choosing a part gives it the whole width; choosing it again, or Escape, gives it back.
  for (const flame of document.querySelectorAll("[data-flame]")) {
    const whole = flame.querySelector(".whole");
    const buttons = [...flame.querySelectorAll("button.part")];
    const groups = [...flame.querySelectorAll("[data-part]")];
    const choose = (part) => {
      flame.classList.toggle("zoomed", part !== null);
      for (const one of groups) one.classList.toggle("away", part !== null && one.dataset.part !== part);
      for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.part === part));
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        choose(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.part);
      });
    }
    flame.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });
    flame.querySelector("[data-whole]").addEventListener("click", () => choose(null));
    whole.hidden = false;
  }
})();
