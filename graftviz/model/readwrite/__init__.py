"""Files of models: UAI, GraphML, node-link JSON, objects of other libraries."""
