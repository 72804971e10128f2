// The model under a budget in the page.

class BudgetHost extends Host {
  library = "GraftvizBudget";
  graph = null;

  callbacks() {
    return {
      need: ({ from }) => this.send("need", { token: this.token, from }),
      moved: (place) => {
        this.writeAddress(place);
        this.send("moved", { token: this.token, ...place });
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

export default mountedBy(BudgetHost);
