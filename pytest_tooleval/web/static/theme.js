// @ts-check
"use strict";
// Light, dark, or as the system has it. Runs before the page is drawn, so that nothing flashes.

(() => {
  const THEMES = ["auto", "light", "dark"];
  const KEY = "tooleval-theme";
  /** @param {string | null} wanted */
  const use = (wanted) => {
    const theme = wanted && THEMES.includes(wanted) ? wanted : "auto";
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Colours: ${theme}`;
    return theme;
  };
  let current = use(localStorage.getItem(KEY));
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    use(current);
    button?.addEventListener("click", () => {
      current = use(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]);
      localStorage.setItem(KEY, current);
    });
  });
})();
