// The page of replay.html: unpack the run in the file, mount the player, switch the theme.

import { remembered } from "../shared/core.js";
import { mount } from "./player.js";

async function readRun(node) {
  if (node.type === "application/json") return JSON.parse(node.textContent);
  const bytes = Uint8Array.from(atob(node.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function openReplay() {
  const root = document.documentElement;
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const system = () => (scheme.matches ? "dark" : "light");
  const follow = () => { root.dataset.theme = remembered.get("theme", null) ?? system(); };
  follow();
  const player = mount(document.getElementById("player"), {});
  scheme.addEventListener("change", () => { follow(); player.refresh(); });
  document.getElementById("theme").addEventListener("click", (event) => {
    if (event.detail) event.currentTarget.blur(); // the space bar is the player's
    const other = root.dataset.theme === "dark" ? "light" : "dark";
    // With the theme of the system, the page follows its changes again.
    remembered.set("theme", other === system() ? null : other);
    follow();
    player.refresh();
  });
  const { header, records, outcome } = await readRun(document.getElementById("run"));
  const step = Number(new URLSearchParams(location.hash.slice(1)).get("step"));
  player.load(header, { step: Number.isInteger(step) && step > 0 ? step : 0, playing: false });
  player.feed({ run: header.run, from: 1, records, outcome });
  globalThis.replay = player;
}

openReplay();
