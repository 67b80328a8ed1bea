// @ts-check
// Light, dark, or as the system has it: the button `theme` switches. A plain script, for the head of a page.

(() => {
  const THEMES = ["auto", "light", "dark"];
  const KEY = "tooleval-theme";
  let current = "auto";
  /** @param {string} wanted */
  const use = (wanted) => {
    current = THEMES.includes(wanted) ? wanted : "auto";
    document.documentElement.dataset.theme = current;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Colours: ${current}`;
  };
  /** A browser may forbid storage for files; the choice then lasts as long as the page. @param {() => void} action */
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
