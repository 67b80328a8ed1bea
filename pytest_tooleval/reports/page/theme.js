// @ts-check
// The button `theme` switches between light, dark and the system's theme. A plain script for the head of a page.

(() => {
  const THEMES = ["auto", "light", "dark"];
  const KEY = "tooleval-theme";
  let current = "auto";
  /** @param {string} wanted */
  const use = (wanted) => {
    current = THEMES.includes(wanted) ? wanted : "auto";
    document.documentElement.dataset.theme = current;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${current}`;
  };
  /** Browsers may forbid storage for local files; the choice then lasts until the page is closed. @param {() => void} action */
  const attempt = (action) => {
    try {
      action();
    } catch {
      // As above.
    }
  };
  attempt(() => use(localStorage.getItem(KEY) || "auto"));
  document.addEventListener("DOMContentLoaded", () => {
    use(current);
    document.getElementById("theme")?.addEventListener("click", () => {
      use(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]);
      attempt(() => localStorage.setItem(KEY, current));
    });
  });
})();
