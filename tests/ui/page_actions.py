"""What a person does on the page, as tests of it need it."""

from __future__ import annotations

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
OWN = "datacenter=alibaba2023&trace=default"
BUILT_IN = {
    "map": f"/map?{OWN}&policy=fgd&other=ocs",
    "why": f"/why?{OWN}&task=4000&policy=ocs",
    "ask": f"/ask?{OWN}",
}
SLOW_MS = 120_000  # the first map on a machine compiles


def choose(tab, group, *names):
    """Of a group of pills exactly these."""
    tab.locator(f"#{group} input").first.wait_for(state="attached")
    for label in tab.locator(f"#{group} label").all():
        box, wanted = label.locator("input"), label.locator("input").input_value() in names
        if box.is_checked() != wanted:
            label.click()


def start_small(tab, server, *policies, seeds="2"):
    """Fill the form for the small datacenter, and start."""
    choose(tab, "start-traces", server.tasks)
    choose(tab, "start-policies", *policies)
    tab.select_option("#start-datacenter", server.nodes)
    tab.fill("#start-seeds", seeds)
    tab.click("#start-run")


def start_long(tab):
    """A run that takes long enough to be interrupted."""
    choose(tab, "start-traces", "default")
    choose(tab, "start-policies", "fgd", "ocs")
    tab.select_option("#start-datacenter", "alibaba2023")
    tab.fill("#start-seeds", "400")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*")


def state(tab, text):
    tab.locator("#run-state .state", has_text=text).wait_for()


def rows(tab, selector):
    """The cells of a table, row by row."""
    return [
        [cell.strip() for cell in row.locator("th,td").all_inner_texts()]
        for row in tab.locator(selector).locator("tbody tr").all()
    ]


def go_to(tab, frame):
    """Drag the slider of the map to a frame, and wait until it is drawn."""
    tab.locator("#map-at").evaluate(
        """(slider, frame) => new Promise((drawn) => {
            slider.value = frame;
            slider.dispatchEvent(new Event("input"));
            requestAnimationFrame(() => requestAnimationFrame(drawn));
        })""",
        str(frame),
    )


def slide(tab, selector, steps):
    """Move a slider by steps, to the left where negative, with the arrow keys."""
    for _ in range(abs(steps)):
        tab.locator(selector).press("ArrowRight" if steps > 0 else "ArrowLeft")
