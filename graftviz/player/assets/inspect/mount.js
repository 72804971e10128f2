// The graph of a finished model in the page.

import { mountedBy } from "../shared/mount.js";

export default mountedBy({ library: "GraftvizInspect", key: "token", messages: { picked: (picked) => picked } });
