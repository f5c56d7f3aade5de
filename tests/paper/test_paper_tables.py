"""Tables I and II: the paper's numbers from the built-in data, and their files."""

import csv

from wattpack.paper.tables import paper_tables, write_tables


def test_table_1_has_the_shares_of_the_paper():
    table, _ = paper_tables()
    assert table.header[1:] == ("0", "(0,1)", "1", "2", "4", "8")
    population, requests = (row[1:] for row in table.rows)
    assert [round(share, 1) for share in population] == [13.3, 37.8, 48.0, 0.2, 0.2, 0.5]
    # 3,911 of 6,086.8 GPUs are 64.254 %; the paper has 64.2, so that its row adds up to 100.0
    assert [round(share, 1) for share in requests] == [0.0, 28.5, 64.3, 0.5, 1.0, 5.8]


def test_table_2_has_the_models_of_the_paper_in_its_order():
    _, table = paper_tables()
    assert table.rows == (
        ("V100M16", 195, 30, 300),
        ("V100M32", 204, 30, 300),
        ("P100", 265, 25, 250),
        ("T4", 842, 10, 70),
        ("A10", 2, 30, 150),
        ("G2 (A10)", 4392, 30, 150),
        ("G3 (A100)", 312, 50, 400),
    )
    assert table.note == "1,213 nodes, 107,018 vCPU, 6,212 GPUs."


def test_tables_are_written_as_csv_and_markdown(tmp_path):
    written = write_tables(tmp_path / "tables")
    assert [path.name for path in written] == ["table1.csv", "table1.md", "table2.csv", "table2.md"]
    with written[0].open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["GPU request per task", "0", "(0,1)", "1", "2", "4", "8"]
    assert rows[2] == ["total GPU requests (%)", "0", "28.452", "64.254", "0.526", "0.986", "5.783"]
    lines = written[3].read_text(encoding="utf-8").splitlines()
    assert lines[2:5] == [
        "| GPU model | amount | power idle (W) | TDP (W) |",
        "| --- | ---: | ---: | ---: |",
        "| V100M16 | 195 | 30 | 300 |",
    ]
