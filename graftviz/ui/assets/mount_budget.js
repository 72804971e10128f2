// The model under a budget in the page.

class BudgetHost extends GraphicHost {
  library = "GraftvizBudget";

  callbacks() {
    return {
      need: ({ from }) => this.send("need", { token: this.token, from }),
      moved: (place) => this.send("moved", { token: this.token, ...place }, place),
    };
  }

  missing() {
    return { from: 0 };
  }
}

export default mountedBy(BudgetHost);
