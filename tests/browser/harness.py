"""A page that holds the player and plays its server: it answers requests from records it was given."""

from __future__ import annotations

import json
from typing import Any

from graftviz.player.assets import player_css, player_javascript

# window.server: runs by token, what was asked for (calls), how slow it answers, what gets lost.
_SERVER = """
const server = {runs: RUNS, calls: [], asked: [], moved: [], branched: [], delay: 20, limit: 400, lose: 0};
server.open = (run, options) => { server.run = run; player.load(server.runs[run].header, options); };
server.send = (run, from, count) => {
  const {records, outcome} = server.runs[run];
  const part = records.slice(from - 1, from - 1 + Math.min(count, server.limit));
  const done = from - 1 + part.length >= records.length;
  player.feed({run, from, records: part, outcome: done ? outcome : null});
};
const player = GraftvizPlayer.mount(document.getElementById('player'), {
  need(from, count) {
    server.calls.push({from, count, at: performance.now()});
    if (server.lose > 0) { server.lose--; return; }
    const run = server.run;
    setTimeout(() => server.send(run, from, count), server.delay);
  },
  ask(question) { server.asked.push(question); if (server.reply) setTimeout(() => player.answer({question, answer: server.reply(question)}), server.delay); },
  moved(t) { server.moved.push(t); },
  branch(t) { server.branched.push(t); },
});
globalThis.player = player;
globalThis.server = server;
"""


def served_page(runs: list[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]]) -> str:
    """Return an HTML page whose ``server`` serves the given runs by their tokens."""
    by_token = {
        header["run"]: {"header": header, "records": records, "outcome": outcome}
        for header, records, outcome in runs
    }
    data = json.dumps(by_token).replace("<", "\\u003c")
    return (
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>player</title>"
        '<link rel="icon" href="data:,"><meta name=viewport content="width=device-width">'
        f"<style>body{{margin:12px}}{player_css()}</style><div id=player></div>"
        f"<script>{player_javascript()}</script><script>{_SERVER.replace('RUNS', data)}</script>"
    )
