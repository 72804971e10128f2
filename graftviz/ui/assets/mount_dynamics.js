// The influence network in the page.

class DynamicsHost extends Host {
  library = "GraftvizDynamics";
  graph = null;

  callbacks() {
    return {
      need: ({ from }) => this.send("need", { token: this.token, from }),
      moved: ({ step, node, from }) => {
        this.writeAddress({ step, node });
        this.send("moved", { token: this.token, step, node, from });
      },
    };
  }

  show(message) {
    this.token = message.run.token;
    if (message.graphId !== this.graph) {
      if (!message.graph) {
        // The server believes that we have this graph, but this mount point is new.
        this.sendLater("need", { token: this.token, graph: true, from: 0 });
        return;
      }
      this.graph = message.graphId;
    }
    this.view.show(message);
  }
}

export default mountedBy(DynamicsHost);
