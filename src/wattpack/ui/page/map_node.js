// One node of the map in words, and the card of a node that is pinned.

import { element } from "./parts.js";

const SHOWN = 50; // tasks

export function nodeText(data, n) {
  const group = data.groups[data.of.type[n]], { sum, reason } = data.lostOf(n);
  const shares = Array.from({ length: group.gpus }, (_, g) => (data.used[n * data.width + g] / 1000).toFixed(2)).join(" ");
  return [
    `${data.names[n]}: ${group.label}`, data.state[n] ? data.states[data.state[n]] : "", group.gpus ? `GPUs in use ${shares}` : "", `vCPU ${(data.cpu[n] / 1000).toFixed(1)} of ${group.cpuMilli / 1000}`,
    `${data.watts[n].toFixed(0)} W`, sum ? `${(sum / 1000).toFixed(2)} GPU fragmented, most: ${data.reasons[reason].name}` : "",
  ].filter(Boolean).join(", ");
}

// `whyOf(policy, task)`: the address that says why a task is there.
export function showNode(box, sides, n, whyOf) {
  box.hidden = n < 0;
  if (n < 0) return;
  box.replaceChildren(element("h2", sides[0].data.names[n]));
  for (const { data, policy } of sides) {
    box.appendChild(element("p", `${policy}: ${nodeText(data, n)}`));
    const tasks = data.tasksOn(n), list = box.appendChild(element("ul", undefined, "tasks"));
    for (const task of tasks.slice(0, SHOWN)) {
      const item = list.appendChild(element("li"));
      Object.assign(item.appendChild(element("a", data.taskName(task))), { href: whyOf(policy, task) });
      item.append(`: ${data.taskText(task)}`);
    }
    if (!tasks.length) list.appendChild(element("li", "no tasks"));
  }
}
