// Precedes the scripts of components that look for elements of the page.

/** The first element of the page, or of a view in a shadow root, that a selector matches. */
function find(selector) {
  const own = document.querySelector(selector);
  if (own) return own;
  for (const node of document.querySelectorAll("[class*=_view] *")) {
    const found = node.shadowRoot?.querySelector(selector);
    if (found) return found;
  }
  return null;
}
