// The influence network in the page.

class DynamicsHost extends GraphicHost {
  library = "GraftvizDynamics";

  callbacks() {
    return {
      need: ({ from }) => this.send("need", { token: this.token, from }),
      moved: ({ step, node, from }) => this.send("moved", { token: this.token, step, node, from }, { step, node }),
    };
  }

  missing() {
    return { from: 0 };
  }
}

export default mountedBy(DynamicsHost);
