"""Node and task files: what is read, and that every fault names file, line, column and value in one line."""

from pathlib import Path

import pytest

from wattpack.datasets.csv_files import read_arrival_s, read_datacenter, read_workload
from wattpack.errors import UserError
from wattpack.model.nodes import Datacenter
from wattpack.model.tasks import TaskClass, Workload

NODE_HEADER = "sn,cpu_milli,memory_mib,gpu,model"
TASK_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"


@pytest.fixture
def nodes(tmp_path: Path):
    def read(*lines: str, header: str = NODE_HEADER) -> Datacenter:
        return read_datacenter(written(tmp_path / "nodes.csv", "\n".join([header, *lines]) + "\n"))

    return read


@pytest.fixture
def tasks(tmp_path: Path):
    def read(*lines: str, header: str = TASK_HEADER) -> Workload:
        return read_workload(written(tmp_path / "tasks.csv", "\n".join([header, *lines]) + "\n"))

    return read


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def assert_fault(fault: pytest.ExceptionInfo[UserError], *parts: str) -> None:
    message = str(fault.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def test_nodes_keep_the_order_of_the_file(nodes) -> None:
    datacenter = nodes("z,1000,10,2,T4", "a,2000,20,8,G2", "m,3000,30,0,")
    assert datacenter.names == ("z", "a", "m")
    assert datacenter.cpu_milli.tolist() == [1000, 2000, 3000]
    assert datacenter.memory_mib.tolist() == [10, 20, 30]
    assert datacenter.gpus.tolist() == [2, 8, 0]
    assert [datacenter.models[model] for model in datacenter.model] == ["T4", "G2", ""]
    assert datacenter.name == "nodes"


def test_tasks_keep_the_order_of_the_file(tasks) -> None:
    workload = tasks("b,1000,10,1,500,", "a,1000,10,2,1000,G2|T4", "b,1000,10,1,500,")
    assert workload.task_names == ("b", "a", "b")
    assert [workload.classes[c] for c in workload.sequence] == [
        TaskClass(1000, 10, 1, 500),
        TaskClass(1000, 10, 2, 1000, "G2|T4"),
        TaskClass(1000, 10, 1, 500),
    ]


def test_columns_come_in_any_order_and_further_ones_are_ignored(nodes, tasks) -> None:
    datacenter = nodes("x,T4,2,7,1000,n", header="rack,model,gpu,memory_mib,cpu_milli,sn")
    assert (datacenter.names, datacenter.memory_mib.tolist()) == (("n",), [7])
    workload = tasks("LS,500,1,7,1000,t", header="qos,gpu_milli,num_gpu,memory_mib,cpu_milli,name")
    assert workload.classes == (TaskClass(1000, 7, 1, 500),)


def test_a_task_file_without_gpu_spec_has_no_constraint(tasks) -> None:
    workload = tasks("t,1000,10,1,500", header="name,cpu_milli,memory_mib,num_gpu,gpu_milli")
    assert workload.classes == (TaskClass(1000, 10, 1, 500, "", ""),)


def test_gpu_spec_is_kept_as_text_and_may_name_models_that_no_node_has(tasks) -> None:
    workload = tasks("t,1,1,1,1000,V100M16|V100M32|V100M32", "u,1,1,1,1000,NoSuchModel")
    assert [task.gpu_spec for task in workload.classes] == ["V100M16|V100M32|V100M32", "NoSuchModel"]


def test_cpu_model_and_cpu_spec_are_read_where_they_are_given(nodes, tasks) -> None:
    datacenter = nodes("n,1000,10,1,T4,Xeon E5-2682 v4", "m,1000,10,1,T4,", header=NODE_HEADER + ",cpu_model")
    assert datacenter.cpu_models == ("Xeon E5-2682 v4", "")
    workload = tasks("t,1,1,0,0,,Xeon E5-2682 v4", header=TASK_HEADER + ",cpu_spec")
    assert workload.classes[0].cpu_spec == "Xeon E5-2682 v4"


@pytest.mark.parametrize("gpu_milli", ["0", "1000", "-5", "", "none"])
def test_gpu_milli_of_a_task_without_gpu_is_ignored(tasks, gpu_milli: str) -> None:
    assert tasks(f"t,1000,10,0,{gpu_milli},").classes == (TaskClass(1000, 10, 0, 0),)


def test_the_model_of_a_node_without_gpu_is_ignored(nodes) -> None:
    assert nodes("n,1000,10,0,Whatever").models == ("",)


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("12.0", 12), (" 12 ", 12), ("+12", 12), ("1.2e1", 12)])
def test_a_whole_number_may_be_written_like_a_spreadsheet_does(tasks, text: str, number: int) -> None:
    assert tasks(f"t,{text},1,0,0,").classes[0].cpu_milli == number


def test_byte_order_mark_and_windows_or_old_mac_line_ends_make_no_difference(tmp_path: Path) -> None:
    lines = [TASK_HEADER, "t,1000,10,1,500,T4", "u,2000,10,0,0,"]
    plain = read_workload(written(tmp_path / "plain.csv", "\n".join(lines) + "\n"))
    for number, (end, encoding) in enumerate([("\r\n", "utf-8"), ("\r\n", "utf-8-sig"), ("\r", "utf-8-sig")]):
        other = read_workload(written(tmp_path / f"{number}.csv", end.join(lines) + end, encoding))
        assert other.classes == plain.classes
        assert other.task_names == plain.task_names
    no_last_end = read_workload(written(tmp_path / "last.csv", "\n".join(lines)))
    assert no_last_end.classes == plain.classes


def test_blank_lines_are_passed_over_and_counted_in_line_numbers(nodes) -> None:
    assert nodes("", "n,1000,10,1,T4", "   ", "m,1000,10,1,T4", "").names == ("n", "m")
    with pytest.raises(UserError) as fault:
        nodes("", "n,1000,10,1,T4", "", "m,x,10,1,T4")
    assert_fault(fault, "nodes.csv, line 5, column cpu_milli: 'x'")


def test_quoted_cells_may_hold_commas(nodes) -> None:
    assert nodes('"rack 1, slot 2",1000,10,1,T4').names == ("rack 1, slot 2",)


@pytest.mark.parametrize("text", ["", "\n\n", TASK_HEADER, TASK_HEADER + "\n"])
def test_an_empty_task_file_is_an_empty_workload(tmp_path: Path, text: str) -> None:
    workload = read_workload(written(tmp_path / "tasks.csv", text))
    assert (len(workload), workload.classes) == (0, ())
    assert workload.gpu_request_milli().tolist() == []


@pytest.mark.parametrize("text", ["", "\n\n", NODE_HEADER, NODE_HEADER + "\n"])
def test_an_empty_node_file_is_a_fault(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as fault:
        read_datacenter(written(tmp_path / "nodes.csv", text))
    assert_fault(fault, "nodes.csv", "no nodes", NODE_HEADER)


@pytest.mark.parametrize("missing", NODE_HEADER.split(","))
def test_a_missing_node_column_is_named(nodes, missing: str) -> None:
    with pytest.raises(UserError) as fault:
        nodes(header=",".join(column for column in NODE_HEADER.split(",") if column != missing))
    assert_fault(fault, "nodes.csv, line 1", repr(missing))


@pytest.mark.parametrize("missing", ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])
def test_a_missing_task_column_is_named(tasks, missing: str) -> None:
    with pytest.raises(UserError) as fault:
        tasks(header=",".join(column for column in TASK_HEADER.split(",") if column != missing))
    assert_fault(fault, "tasks.csv, line 1", repr(missing))


@pytest.mark.parametrize("column", ["cpu_milli", "gpu_spec"])
def test_a_column_that_comes_twice_is_a_fault_even_an_optional_one(tasks, column: str) -> None:
    with pytest.raises(UserError) as fault:
        tasks(header=f"{TASK_HEADER},{column}")
    assert_fault(fault, "tasks.csv, line 1", repr(column), "twice")


NO_NUMBER = ["", "x", "-1", "0.5", "nan", "inf", "1e400", "1_000", "0x10", "٣", "1000000000001", "9" * 5000, "1 000"]


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize("column", ["cpu_milli", "memory_mib", "gpu"])
def test_a_node_amount_that_is_no_whole_number_from_0_up_is_a_fault(nodes, column: str, value: str) -> None:
    cells = {"sn": "n", "cpu_milli": "1000", "memory_mib": "10", "gpu": "1", "model": "T4"} | {column: value}
    with pytest.raises(UserError) as fault:
        nodes("first,1000,10,1,T4", ",".join(cells.values()))
    assert_fault(fault, f"nodes.csv, line 3, column {column}: {value!r}, expected a whole number from 0")


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize("column", ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])
def test_a_task_amount_that_is_no_whole_number_from_0_up_is_a_fault(tasks, column: str, value: str) -> None:
    cells = {"name": "t", "cpu_milli": "1000", "memory_mib": "10", "num_gpu": "1", "gpu_milli": "1000", "gpu_spec": ""}
    with pytest.raises(UserError) as fault:
        tasks("first,1000,10,1,500,", ",".join((cells | {column: value}).values()))
    assert_fault(fault, f"tasks.csv, line 3, column {column}: {value!r}, expected a whole number from")


@pytest.mark.parametrize("gpu_milli", ["0", "1001"])
def test_gpu_milli_of_a_gpu_task_is_from_1_to_1000(tasks, gpu_milli: str) -> None:
    with pytest.raises(UserError) as fault:
        tasks(f"t,1000,10,1,{gpu_milli},")
    assert_fault(fault, f"tasks.csv, line 2, column gpu_milli: '{gpu_milli}', expected a whole number from 1 to 1000")
    assert [tasks(f"t,1000,10,1,{least_most},").classes[0].gpu_milli for least_most in (1, 1000)] == [1, 1000]


def test_a_share_of_more_than_one_gpu_is_a_fault(tasks) -> None:
    with pytest.raises(UserError) as fault:
        tasks("t,1000,10,2,999,")
    assert_fault(fault, "tasks.csv, line 2, column gpu_milli: '999'", "1000", "num_gpu 2")


@pytest.mark.parametrize("spec", ["|", "T4|", "|T4", "T4||G2", "T4 | G2"])
def test_a_spec_with_an_empty_or_padded_model_is_a_fault(tasks, spec: str) -> None:
    with pytest.raises(UserError) as fault:
        tasks(f"t,1000,10,1,1000,{spec}")
    assert_fault(fault, f"tasks.csv, line 2, column gpu_spec: {spec!r}", "'A|B'")


def test_a_node_name_that_comes_twice_is_a_fault_that_names_both_lines(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes("n,1000,10,1,T4", "m,1000,10,1,T4", "n,1000,10,1,T4")
    assert_fault(fault, "nodes.csv, line 4, column sn: 'n'", "line 2")


def test_a_node_without_a_name_is_a_fault(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes(",1000,10,1,T4")
    assert_fault(fault, "nodes.csv, line 2, column sn: ''", "a name")


@pytest.mark.parametrize("model", ["H9000", "", "t4"])
def test_a_gpu_model_without_a_power_entry_is_a_fault_that_lists_the_known_ones(nodes, model: str) -> None:
    with pytest.raises(UserError) as fault:
        nodes(f"n,1000,10,1,{model}")
    assert_fault(fault, "nodes.csv, line 2, column model", repr(model), "V100M32")


def test_a_cpu_model_without_a_power_entry_is_a_fault(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes("n,1000,10,1,T4,Abacus", header=NODE_HEADER + ",cpu_model")
    assert_fault(fault, "nodes.csv, line 2, column cpu_model", "'Abacus'", "Xeon E5-2682 v4")


def test_a_node_with_more_gpus_than_the_engine_holds_is_a_fault(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes("n,1000,10,17,T4")
    assert_fault(fault, "nodes.csv, line 2, column gpu: '17'", "0 to 16")


@pytest.mark.parametrize("line", ["n,1000,10,1", "n,1000,10,1,T4,more"])
def test_a_line_with_too_few_or_too_many_cells_is_a_fault(nodes, line: str) -> None:
    with pytest.raises(UserError) as fault:
        nodes(line)
    assert_fault(fault, "nodes.csv, line 2", f"{line.count(',') + 1} cells, expected 5")


def test_a_value_with_a_line_end_in_it_still_gives_one_line(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes('n,"10\n00",10,1,T4')
    assert_fault(fault, "column cpu_milli", r"'10\n00'")


def test_an_open_quote_is_a_fault(nodes) -> None:
    with pytest.raises(UserError) as fault:
        nodes('"n,1000,10,1,T4')
    assert_fault(fault, "nodes.csv, line 2", "expected CSV")


def test_a_file_that_is_missing_or_a_folder_or_not_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_bytes(b"PK\x03\x04\xff\xfe\x00")
    for path in (tmp_path / "none.csv", tmp_path, tmp_path / "zip.csv"):
        with pytest.raises(UserError) as fault:
            read_datacenter(path)
        assert_fault(fault, str(path), "expected a CSV file")
        with pytest.raises(UserError) as fault:
            read_workload(path)
        assert_fault(fault, str(path), "expected a CSV file")


def test_times_of_arrival_are_seconds_in_order_and_other_columns_do_not_matter(tmp_path: Path) -> None:
    file = written(tmp_path / "tasks.csv", "creation_time,name\n0,a\n2.5,b\n2.5,c\n1e3,d\n")
    assert read_arrival_s(file).tolist() == [0.0, 2.5, 2.5, 1000.0]
    assert read_arrival_s(written(tmp_path / "none.csv", "creation_time\n")).tolist() == []


@pytest.mark.parametrize("text", ["", "-1", "soon", "inf", "1_0", "1"])
def test_a_time_that_is_none_or_before_the_one_above_is_a_fault(tmp_path: Path, text: str) -> None:
    file = written(tmp_path / "tasks.csv", f"name,creation_time\na,2\nb,{text}\n")
    with pytest.raises(UserError, match=f"line 3, column creation_time: '{text}', expected seconds from 2 on"):
        read_arrival_s(file)
