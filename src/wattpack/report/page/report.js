// The start of the offline report: the curves that stand in the page.
import { byId } from "./parts.js";
import { showCurves } from "./curves.js";

showCurves(JSON.parse(byId("data").textContent));
