// For keyboards and screen readers: what scrolls takes the focus, in another width, too, where the theme's
// script forgets code; and the buttons of each block of code have a name of their own.
const SCROLLING = ".md-typeset__scrollwrap, .md-typeset p:has(> img), .tabbed-labels, pre > code";
const update = () => {
  for (const one of document.querySelectorAll(SCROLLING)) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
  document.querySelectorAll(".md-code__nav").forEach((one, index) => {
    one.ariaLabel = `Code ${index + 1}`;
  });
};
new MutationObserver(update).observe(document.body, { childList: true, subtree: true });
for (const event of ["load", "resize"]) addEventListener(event, update);
