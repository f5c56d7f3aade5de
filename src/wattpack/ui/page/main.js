// Which view an address means, and moving between views without loading the page again.

import { byId } from "./parts.js";
import { allChoices, showFault, tried } from "./asking.js";
import { openAsk } from "./ask.js";
import { openStart } from "./start.js";
import { closeLive, openLive } from "./live.js";
import { closeMap, openMap } from "./map.js";
import { openWhy } from "./why.js";
import { closeRun, openRun } from "./run.js";

const VIEWS = { "/": ["view-start", openStart], "/map": ["view-map", openMap], "/why": ["view-why", openWhy], "/ask": ["view-ask", openAsk], "/live": ["view-live", openLive] };

const show = tried(async () => {
  const path = location.pathname, run = path.match(/^\/runs\/([^/]+)$/);
  const [id, open] = run ? ["view-run", () => openRun(run[1])] : VIEWS[path] || VIEWS["/"];
  closeRun();
  closeMap();
  closeLive();
  for (const view of document.querySelectorAll(".view")) view.hidden = view.id !== id;
  for (const link of byId("views").children) {
    if (link.getAttribute("href") === path || (run && link.getAttribute("href") === "/")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  await open();
});

export function go(path) {
  if (path !== location.pathname + location.search) history.pushState(null, "", path);
  return show();
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.origin !== location.origin || link.target || link.hasAttribute("download") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.pathname.startsWith("/api/") || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(link.pathname + link.search).then(() => { byId("content").focus({ preventScroll: true }); scrollTo(0, 0); });
});
addEventListener("popstate", show);
addEventListener("go", (event) => { if (event instanceof CustomEvent) go(event.detail); });
show();
allChoices().then(({ live }) => { byId("views").querySelector("a[href='/live']").hidden = !live; }).catch(showFault);
