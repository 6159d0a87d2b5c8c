// The arena's page: replaces changed parts and plays recorded games. All rendering is the server's,
// except that of large boards: see `canvas.js`.
"use strict";

// Replaces the element with the same id by the element in `html`.
function swap(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  const old = fresh && document.getElementById(fresh.id);
  // A part with the keyboard focus is not replaced; a later change updates it.
  if (!old || old.contains(document.activeElement)) return;
  const opened = [...old.querySelectorAll("details")].map((details) => details.open);
  fresh.querySelectorAll("details").forEach((details, at) => { details.open = !!opened[at]; });
  old.replaceWith(fresh);
}

// Calls the handler of each event. A browser connects again after a lost connection, but not after a
// refusal, such as that of a proxy while the arena restarts.
function listen(url, handlers) {
  const link = document.getElementById("link");
  const source = new EventSource(url);
  source.onopen = () => { link.textContent = "live"; };
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) {
      link.textContent = "not connected, trying again";
      return;
    }
    link.textContent = "refused, trying again in a few seconds";
    // Pages that were refused together do not ask again together.
    setTimeout(listen, 5000 + 5000 * Math.random(), url, handlers);
  };
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(event.data));
  }
}

function say(sentence) {
  const news = document.getElementById("news");
  if (news.querySelector(".quiet")) news.replaceChildren();
  const item = document.createElement("li");
  item.textContent = sentence;
  news.prepend(item);
  while (news.children.length > 20) news.lastElementChild.remove();
}

const canvas = document.querySelector("canvas#frame");
const board = canvas && new CellBoard(canvas);

// Shows a frame. `before` are the frames that a canvas has not applied yet.
function show(frame, before = []) {
  if (board) {
    for (const { board: cells } of [...before, frame]) board.apply(cells);
    board.draw(frame.marks || "");
  } else {
    document.getElementById("frame").innerHTML = frame.board;
  }
  document.getElementById("seats").innerHTML = frame.seats;
  document.getElementById("caption").textContent = frame.caption;
}

// Controls of a recorded game. Without the script the links of the page do the same.
async function play(viewer) {
  const answer = await fetch(viewer.dataset.frames);
  if (!answer.ok) return;
  const { frames, every, note } = await answer.json();
  const control = {};
  for (const element of viewer.querySelectorAll("[data-go]")) control[element.dataset.go] = element;
  const slider = control.slider, button = control.play, caption = document.getElementById("caption");
  const last = Number(slider.max), end = frames.length - 1;
  const turn = (frame) => Math.min(frame * every, last);
  const frameOf = (ply) => (ply < last ? Math.floor(ply / every) : end);
  // The frame in view. The first one that is shown applies all frames up to it.
  let at = frameOf(Number(slider.value)), applied = -1, timer = 0;

  function go(to) {
    at = Math.max(0, Math.min(end, to));
    slider.value = turn(at);
    slider.setAttribute("aria-valuetext", `turn ${turn(at)} of ${last}`);
    show(frames[at], board ? frames.slice(at < applied ? 0 : applied + 1, at) : []);
    applied = at;
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    button.textContent = "▶ Play";
    caption.setAttribute("aria-live", "polite");
    history.replaceState(null, "", `?ply=${turn(at)}`);
  }
  function start() {
    caption.setAttribute("aria-live", "off");
    button.textContent = "❚❚ Pause";
    if (at === end) go(0);
    clearInterval(timer);
    // A browser draws some 25 frames a second; higher speeds leave frames out.
    const wait = Math.max(1000 / control.speed.value, 40);
    const step = Math.round(control.speed.value * wait / 1000);
    timer = setInterval(() => { if (at < end) go(at + step); else pause(); }, wait);
  }
  const moves = {
    first: () => { pause(); go(0); },
    back: () => { pause(); go(at - 1); },
    on: () => { pause(); go(at + 1); },
    last: () => { pause(); go(end); },
    play: () => (timer ? pause() : start()),
  };
  for (const [name, move] of Object.entries(moves)) {
    control[name].addEventListener("click", (event) => { event.preventDefault(); move(); });
  }
  slider.addEventListener("input", () => { const to = frameOf(Number(slider.value)); pause(); go(to); });
  control.speed.addEventListener("change", () => { if (timer) start(); });
  const keys = { " ": "play", ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" };
  document.addEventListener("keydown", (event) => {
    const own = event.target.closest("select, summary, button");
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    // Space activates a focused control first.
    if (own && (event.key === " " || own.tagName === "SELECT")) return;
    event.preventDefault();
    moves[keys[event.key]]();
  });
  document.getElementById("note").textContent = note;
  for (const element of viewer.querySelectorAll("[hidden]")) element.hidden = false;
  if (!new URLSearchParams(location.search).has("ply") && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    go(0);
    start();
  }
}

const viewer = document.getElementById("viewer");
if (viewer && viewer.dataset.frames) play(viewer);
if (viewer && viewer.dataset.live) {
  listen(viewer.dataset.live, { swap, frame: (data) => show(JSON.parse(data)) });
}
const parts = document.getElementById("parts");
if (parts) listen(parts.dataset.events, { swap, say });
