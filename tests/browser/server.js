// The page's own server: answers the player from runs it was given, late or not at all if told so.
Math.random = () => 0.5; // requests have their mean size
const server = {
  runs: JSON.parse(document.getElementById("runs").textContent),
  calls: [], // what need() asked for
  asked: [],
  moved: [],
  branched: [],
  switched: 0, // to the preset best
  alphas: [], // chosen on the reservoir
  delay: 20, // ms
  limit: 400, // records per message
  lose: 0, // requests to swallow
  reply: null, // question -> answer
};
server.open = (run, options) => {
  server.run = run;
  player.load(server.runs[run].header, options);
};
server.send = (run, from, count) => {
  const { records, outcome } = server.runs[run];
  const part = records.slice(from - 1, from - 1 + Math.min(count, server.limit));
  const done = from - 1 + part.length >= records.length;
  player.feed({ run, from, records: part, outcome: done ? outcome : null });
};
const player = GraftvizPlayer.mount(document.getElementById("player"), {
  need(from, count) {
    server.calls.push({ from, count, at: performance.now() });
    if (server.lose > 0) {
      server.lose -= 1;
      return;
    }
    const { run } = server;
    setTimeout(() => server.send(run, from, count), server.delay);
  },
  ask(question) {
    server.asked.push(question);
    if (server.reply) {
      setTimeout(() => player.answer({ question, answer: server.reply(question) }), server.delay);
    }
  },
  moved(t) { server.moved.push(t); },
  branch(t) { server.branched.push(t); },
  best() { server.switched += 1; },
  alpha(value) { server.alphas.push(value); },
});
globalThis.player = player;
globalThis.server = server;
