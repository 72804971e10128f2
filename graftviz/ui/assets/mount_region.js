// The growing region in the page.

class RegionHost extends Host {
  library = "GraftvizRegion";
  graph = null;

  trigger(name, value) {
    this.send(name, { token: this.token, ...value });
  }

  callbacks() {
    return {
      need: (wants) => this.trigger("need", wants),
      ask: (query) => this.trigger("ask", { query }),
      rule: (key) => this.trigger("rule", { key }),
      strengths: (point) => this.trigger("strengths", point),
      moved: (place) => {
        this.writeAddress(place);
        this.trigger("moved", place);
      },
    };
  }

  show(message) {
    this.token = message.token;
    if (message.graphId !== this.graph) {
      if (!message.graph) {
        // The server believes that we have this graph, but this mount point is new.
        this.sendLater("need", { token: this.token, graph: true, parts: message.pending });
        return;
      }
      this.graph = message.graphId;
    }
    this.view.show(message);
  }
}

export default mountedBy(RegionHost);
