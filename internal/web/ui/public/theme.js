// Runs before the first paint, so that a theme chosen by hand never flashes in the other one.
(function () {
  try {
    var theme = localStorage.getItem("mooring.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (e) { /* storage is off: the system's theme it is */ }
})();
