// Glue to Streamlit: the module calls this function again and again with new data; the player stays.

const HOSTS = new WeakMap(); // mount point → {player, generation, latest, …}

export default function (component) {
  const { parentElement } = component;
  const data = component.data || {};
  let host = HOSTS.get(parentElement);
  if (!host) {
    host = { generation: 0, run: null };
    HOSTS.set(parentElement, host);
  }
  // Callbacks must go through the latest render, whatever render the player was made in.
  host.latest = component;
  const generation = ++host.generation;
  const trigger = (name, value) => host.latest.setTriggerValue(name, value);

  if (!host.player) {
    const callbacks = {
      need: (from, count) => trigger("need", { run: host.run, from, count }),
      ask: (question) => trigger("ask", { run: host.run, ...question }),
      moved: (t) => host.latest.setStateValue("step", t),
    };
    if (data.can_branch !== false) callbacks.branch = (t) => trigger("branch", { run: host.run, t });
    host.player = GraftvizPlayer.mount(parentElement, callbacks);
  } else {
    host.player.refresh();
  }

  const { player } = host;
  const run = data.header ? data.header.run : data.run ?? null;
  if (data.header && run !== host.run) {
    host.run = run;
    player.load(data.header, { step: data.step ?? null, playing: data.playing ?? false });
  } else if (!data.header && run !== null && run !== host.run) {
    // The server thinks we have this run; we are new here.
    setTimeout(() => trigger("need", { run, from: 1, count: 24, header: true }));
  }
  if (host.run !== null && run === host.run && data.records) {
    player.feed({ run, from: data.from ?? 1, records: data.records, outcome: data.outcome ?? null });
  }
  if (data.answer) player.answer(data.answer);

  return () => {
    // A superseded render is cleaned up as well, perhaps just before its successor starts.
    setTimeout(() => {
      if (host.generation !== generation || host.player !== player) return;
      player.destroy();
      HOSTS.delete(parentElement);
    }, 100);
  };
}
