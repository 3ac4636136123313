import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/App";
import { fetchPage } from "@/app/pages";
import "@/app/styles.css";

// The page's code comes beside this one's, as the shell names both: to draw once what is there then is less work than to draw twice.
// No `await` out here: the page's chunk imports this one, and each would wait for the other.
void fetchPage(location.pathname).then(() =>
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App />
    </StrictMode>,
  ),
);
