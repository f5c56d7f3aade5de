// The start of the offline report of runs in time: the charts that stand in the page.
import { byId } from "./parts.js";
import { showTime } from "./time.js";

showTime(JSON.parse(byId("data").textContent));
