"""PWR by hand: watts that a task adds, over all nodes from 0 to 100; the GPU that is awake already."""

from builders import arrive, decide, explained, make_engine, make_node, make_task, place
from wattpack.policies.pwr import whole_watts

HALF = make_task(gpu=0.5, cpu=1)


def test_watts_are_truncated_towards_zero() -> None:
    assert [whole_watts(mw) for mw in (-1999, -1000, -999, 0, 999, 1000, 1999)] == [-1, -1, 0, 0, 0, 1, 1]


def test_it_takes_the_node_whose_power_rises_least() -> None:
    """Idle nodes: a socket adds 120 - 15 = 105 W, a GPU of G2 150 - 30 = 120, of T4 70 - 10 = 60, of G3 400 - 50 = 350.

    Raw -225, -165, -455. Over 290: (230 * 100) // 290 = 79, 100, 0.
    """
    engine = make_engine([make_node(model=model) for model in ("G2", "T4", "G3")], [HALF], "pwr")
    seen = explained(engine, HALF)
    assert seen.raw.tolist() == [[-225, -165, -455]]
    assert seen.normalised.tolist() == [[79, 100, 0]]
    assert seen.total.tolist() == [79_000, 100_000, 0]
    assert decide(engine, HALF) == (1, (0,))


def test_where_all_rise_alike_all_have_100_and_the_first_wins() -> None:
    engine = make_engine([make_node()] * 3, [HALF], "pwr")
    seen = explained(engine, HALF)
    assert seen.raw.tolist() == [[-225, -225, -225]]
    assert seen.normalised.tolist() == [[100, 100, 100]]
    assert decide(engine, HALF) == (0, (0,))


def test_a_gpu_that_is_awake_costs_nothing_more() -> None:
    """GPU 2 of node 1 is half used and so is its first socket: 0 W there, on its other GPUs -120 W; node 0: -225 W."""
    engine = make_engine([make_node(gpus=4)] * 2, [HALF], "pwr")
    place(engine, HALF, 1, (2,))
    assert explained(engine, HALF).raw.tolist() == [[-225, 0]]
    assert decide(engine, HALF) == (1, (2,))


def test_a_whole_gpu_task_pays_for_each_gpu() -> None:
    """3 GPUs of T4: 3 * 60 = 180 W, and 20 cores wake two sockets, 210 W."""
    task = make_task(gpu=3, cpu=40)
    engine = make_engine([make_node(model="T4")], [task], "pwr")
    assert explained(engine, task).raw.tolist() == [[-390]]
    assert decide(engine, task) == (0, (0, 1, 2))


def test_a_cpu_task_goes_where_a_socket_is_awake() -> None:
    """1 vCPU on node 1 leaves 15 cores of a socket that is awake: 31 vCPU more wake nothing, on node 0 a socket."""
    small, large = make_task(cpu=1), make_task(cpu=31)
    engine = make_engine([make_node()] * 2, [small, large], "pwr")
    place(engine, small, 1)
    assert explained(engine, large).raw.tolist() == [[-105, 0]]
    assert arrive(engine, large) == (1, ())
    assert explained(engine, large).raw.tolist() == [[-105, -105]]  # 16 cores are in use there now
