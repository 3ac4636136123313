// Adds a copy button to every line that is meant to be copied. Without a clipboard the page stays as it is.
if (navigator.clipboard) {
  for (const block of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${block.getAttribute("aria-label") || "address"}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("code").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    const frame = document.createElement("div");
    frame.className = "copyable";
    block.replaceWith(frame);
    frame.append(block, button);
  }
}
