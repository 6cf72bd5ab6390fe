"""``bench report`` as a command: what it writes, says and refuses, and what is inside the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.cli.main import main
from bench_plugin.report.interactive.columns import natural
from bench_plugin.report.interactive.evidence import BLOCK
from bench_plugin.report.interactive.look import CHANGES, STATUSES
from bench_plugin.report.interactive.packing import pack_bytes, unpack_bytes
from bench_plugin.report.statuses import ORDER
from tests.report.comparison.runs import timed
from tests.report.interactive.packed import packed
from tests.report.interactive.scene import (
    BEFORE,
    BROKEN_KEY,
    FIXED_KEY,
    HOSTILE,
    NOW,
    TIMED_KEY,
    computed,
    failure,
    many,
    rows_before,
    rows_now,
    write,
    write_runs,
)
from tests.report.made import header, plan

pytest.importorskip("jinja2", reason="comes with the extra report")
pytest.importorskip("vl_convert", reason="comes with the extra report")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_runs(tmp_path)


def word(data: Any, column: str, cell: int) -> str:
    """The text of a cell in a column of the table."""
    [found] = [one for one in data["columns"] if one["id"] == column]
    return str(found["words"][found["codes"][cell]])


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What the command prints with --json."""
    assert main(["report", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_says_what_was_written(capsys: pytest.CaptureFixture[str], results: Path, tmp_path: Path) -> None:
    assert main(["report", str(results), "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "since the previous run: 1 broke, 1 got further" in printed
    assert re.search(rf"wrote {tmp_path}/out/report.html: 12 cells, \d\.\d MB", printed)


def test_json(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    found = said(capsys, str(results))
    assert found["bytes"] == Path(found["file"]).stat().st_size
    assert found["statuses"] == {"ERROR": 2, "mismatch": 1, "unsupported": 1, "Not provided": 1, "supported": 7}
    [group] = found["broke"]
    assert group["tool"] == "tvm" and group["count"] == 1 and group["cells"][0][0] == BROKEN_KEY
    assert group["versions"] == ["tvm apache-tvm 0.26.0 → 0.27.0"], "versions of other tools are not beside it"
    assert found["failures"] == 2 and found["known"] == 2
    steps = {step["stage"]: (step["came"], dict(step["stopped"])) for step in found["funnel"]["steps"]}
    assert steps == {
        "compile": (11, {"ERROR": 1, "unsupported": 1}),
        "run": (9, {"ERROR": 1}),
        "compare": (8, {"mismatch": 1}),
    }


@pytest.mark.parametrize("broke", [False, True])
def test_what_is_slower_stands_behind_what_broke(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, broke: bool
) -> None:
    before = [timed(), computed(1, key=FIXED_KEY)]
    fallen = failure(1, "mismatch", "compare", "mismatch", "out0: E 1.0e-02", key=FIXED_KEY)
    after = [timed(1.1, versions={"onnxruntime": "1.32"}), fallen if broke else before[1]]
    heads = header(run=BEFORE), header(run=NOW)
    first = write(tmp_path / "before.jsonl", [heads[0], plan(2, 2)], before)
    path = write(tmp_path / "now.jsonl", [heads[1], plan(2, 2)], after)
    found = said(capsys, str(path), "--against", str(first))
    assert found["moved"] == {"broke": 1, "slower": 1} if broke else {"slower": 1}
    [one] = found["slower"]
    assert one["said"].startswith("slower: 1 ms → 1.1 ms (+") and "onnxruntime 1.31 → 1.32" in one["versions"]
    page = (tmp_path / "report.html").read_text("utf-8")
    headline = re.search(r'<h2 id="summary-title" class="headline bad">(.*?)</h2>', page)
    assert (
        headline and ("1 cell broke" if broke else "No cells broke") in headline[1] and "; 1 is slower" in headline[1]
    )
    assert page.index("<h3>What is slower</h3>") > (page.index("<h3>What broke, and why</h3>") if broke else 0)
    assert f'href="#cell={after[0]["key"]}"' in page


def test_pictures_as_svg_files(capsys: pytest.CaptureFixture[str], results: Path, tmp_path: Path) -> None:
    found = said(capsys, str(results), "--svg", str(tmp_path / "svg"))
    names = sorted(path.name for path in (tmp_path / "svg").iterdir())
    assert names == sorted(Path(path).name for path in found["svg"]) and "funnel.svg" in names
    shown = [picture["name"] for picture in packed(results.parent / "report.html", "pictures-data")]
    assert names == sorted(f"{name}.svg" for name in shown), "the same pictures as on the page"


def test_the_run_before_is_found_although_a_cell_was_added(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    lines = results.read_text("utf-8").replace('"hash": "1234"', '"hash": "5678"')
    results.write_text(lines + json.dumps(computed(40)) + "\n", "utf-8")
    assert said(capsys, str(results))["moved"] == {"broke": 1, "got further": 1, "new": 1}


def test_a_run_of_another_selection_is_not_compared(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    text = results.read_text("utf-8").replace('"hash": "1234"', '"hash": "5678"').replace('"quick"', '"full"')
    results.write_text(text, "utf-8")
    found = said(capsys, str(results))
    [why] = found["not_compared"]
    assert "none of 1 earlier runs selected the same cells" in why and "--against" in why
    assert found["moved"] == {} and [group["count"] for group in found["failed"]] == [1, 1]
    again = said(capsys, str(results), "--against", str(results.parent / "history" / f"{BEFORE}.jsonl"))
    assert again["moved"] == {"broke": 1, "got further": 1}


def test_rows_of_several_files(capsys: pytest.CaptureFixture[str], results: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "b" / "more.jsonl", [header(run="other"), plan(2, 2)], [computed(50), computed(6)])
    found = said(capsys, str(results), str(more))
    assert found["statuses"]["supported"] == 8, "the cell that both files have is shown once"
    assert found["remarks"] == ["1 rows were replaced by later rows of the same cell on the same machine"]
    data = packed(results.parent / "report.html", "data")
    assert {word(data, "run", cell) for cell in range(len(data["ids"]))} == {NOW, "other"}


def test_the_most_urgent_cells_come_first(results: Path) -> None:
    assert main(["report", str(results)]) == 0
    data = packed(results.parent / "report.html", "data")
    assert data["ids"][0] == BROKEN_KEY
    assert word(data, "change", data["ids"].index(FIXED_KEY)) == "got further"
    shown = [word(data, "status", cell) for cell in range(len(data["ids"]))]
    assert shown[1] == "ERROR" and shown[2:] == sorted(shown[2:], key=ORDER.index)


def test_no_text_of_a_row_breaks_out(results: Path) -> None:
    assert main(["report", str(results)]) == 0
    page = (results.parent / "report.html").read_text("utf-8")
    assert "window.broken" not in page.replace("&lt;script&gt;window.broken", "")
    assert "<!--" not in page and page.count("</html>") == 1
    data = packed(results.parent / "report.html", "data")
    whys = [word(data, "why", cell) for cell in range(len(data["ids"]))]
    assert HOSTILE.splitlines()[0][:60] in [why[:60] for why in whys]


@pytest.mark.parametrize("where", ["reason", "model", "header"])
def test_hostile_texts_in_the_opening(tmp_path: Path, where: str) -> None:
    rows = [failure(1, "ERROR", "run", "crash", HOSTILE if where == "reason" else "it crashed")]
    rows[0]["cell"]["model"] = HOSTILE if where == "model" else "m"
    head = header(commit=HOSTILE, command=[HOSTILE], machine={HOSTILE: HOSTILE}) if where == "header" else header()
    path = write(tmp_path / "results.jsonl", [head, plan(1, 1)], rows)
    assert main(["report", str(path)]) == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    scripts = re.findall(r"<script(?: [^>]*)?>", page)
    assert "window.broken = 1&lt;/script&gt;" in page, "it is shown, as text"
    assert len(scripts) == page.count("</script>") and not re.search(r"<script>window\.broken|<img", page)


def test_half_characters_and_nan(tmp_path: Path) -> None:
    """Rows of an older version or of a third party: what orjson refuses is shown, and no row is lost."""
    path = write(
        tmp_path / "results.jsonl", [header(), plan(2, 2)], [failure(1, "ERROR", "run", "crash", "name \udce9")]
    )
    row = json.dumps(computed(2)).replace("3e-07", "NaN", 1)
    path.write_text(path.read_text("utf-8") + row + "\n", "utf-8")
    assert "NaN" in row and main(["report", str(path)]) == 0
    data = packed(tmp_path / "report.html", "data")
    assert len(data["ids"]) == 2 and "name \\udce9" in [word(data, "why", cell) for cell in (0, 1)]


def test_only_logs_of_the_run_are_opened(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere" / "secret.log"
    secret.parent.mkdir()
    secret.write_text("words of another file")
    folder = tmp_path / "run"
    rows = [failure(1, "ERROR", "run", "crash", "x", log=str(secret)),
            failure(2, "ERROR", "run", "crash", "x", log="../elsewhere/secret.log"),
            failure(3, "ERROR", "run", "crash", "x", log="/another/machine/logs/tvm-1.log")]  # fmt: skip
    path = write_runs(folder, rows)
    assert main(["report", str(path)]) == 0
    logs = packed(folder / "report.html", "logs")
    assert list(logs) == ["/another/machine/logs/tvm-1.log"], "by its name, from the folder beside the results"
    assert "hf_0123" not in logs["/another/machine/logs/tvm-1.log"], "tools print secrets"


def test_trends_come_from_the_index_of_runs(results: Path) -> None:
    pytest.importorskip("duckdb", reason="comes with the extra history")
    assert main(["report", str(results)]) == 0
    page = results.parent / "report.html"
    assert packed(page, "trends") == {}, "no index, no trend"
    assert main(["history", "index", "--results", str(results)]) == 0
    assert main(["report", str(results)]) == 0
    trend = packed(page, "trends")[BROKEN_KEY]
    assert trend["run"] == [BEFORE, NOW] and trend["status"] == ["supported", "mismatch"]
    (results.parent / "history" / "index.duckdb").write_bytes(b"no index")
    assert main(["report", str(results)]) == 0
    assert packed(page, "trends") == {} and "--rebuild makes it again" in page.read_text("utf-8")


def test_nothing_of_the_index_is_left_open_at_the_end_of_the_process(results: Path) -> None:
    pytest.importorskip("duckdb", reason="comes with the extra history")
    assert main(["history", "index", "--results", str(results)]) == 0
    code = f"import sys; from bench_plugin.cli.main import main; sys.exit(main(['report', {str(results)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "leaked" not in done.stderr, "DuckDB counts what is left at the end of the process"


def test_the_index_may_be_elsewhere_and_older_than_the_run(
    capsys: pytest.CaptureFixture[str], results: Path, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb", reason="comes with the extra history")
    index, before = tmp_path / "nights.duckdb", results.parent / "history" / f"{BEFORE}.jsonl"
    assert main(["report", str(results), "--index", str(index)]) == 2
    assert f"--index: {index} does not exist; `bench history index" in capsys.readouterr().err
    assert main(["history", "index", str(before), "--index", str(index)]) == 0
    for more in ([], ["--without-details"]):
        assert main(["report", str(results), "--index", str(index), *more]) == 0
        trends = packed(results.parent / "report.html", "trends")
        broken = trends[BROKEN_KEY]
        assert broken["run"] == [BEFORE, NOW] and broken["status"] == ["supported", "mismatch"]
        assert broken["started"] == ["2026-11-20", "2026-11-21"], "the run of the page is the last one of its cells"
        assert len(trends) == 12, "every cell that an earlier run had"
        assert trends[TIMED_KEY]["line"] == trends[TIMED_KEY]["time"] == [0.002, 0.002]


def test_an_index_that_was_asked_for_and_cannot_be_read_is_said(results: Path, tmp_path: Path) -> None:
    index = tmp_path / "nights.duckdb"
    index.write_bytes(b"")
    run = "sys.modules['duckdb'] = None; from bench_plugin.cli.main import main"
    arguments = ["report", str(results), "--index", str(index)]
    code = f"import sys; {run}; sys.exit(main({arguments!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "pip install 'bench-plugin[history]'" in done.stderr, done.stderr


def test_instructions_over_runs_are_a_line_where_there_is_no_time(results: Path) -> None:
    pytest.importorskip("duckdb", reason="comes with the extra history")
    counted = [
        computed(60, axes={"check": "timing"}, placement={"timing": "emulated"}, run=run,
                 numbers={"timing": {"instructions": {"median": count}, "compute": {"median": 1.0}}})
        for run, count in ((BEFORE, 1000), (NOW, 1100))
    ]  # fmt: skip
    before = results.parent / "history" / f"{BEFORE}.jsonl"
    for path, row in ((before, counted[0]), (results, counted[1])):
        path.write_text(path.read_text("utf-8") + json.dumps(row) + "\n", "utf-8")
    assert main(["history", "index", "--results", str(results)]) == 0
    assert main(["report", str(results)]) == 0
    trend = packed(results.parent / "report.html", "trends")[counted[0]["key"]]
    assert trend["time"] == [None, None] and trend["instructions"] == trend["line"] == [1000, 1100]


def test_details_are_in_blocks(tmp_path: Path) -> None:
    path = write_runs(tmp_path, many(BLOCK + 3))
    assert main(["report", str(path)]) == 0
    assert len(packed(tmp_path / "report.html", "block-0")) == BLOCK
    [*_, last] = packed(tmp_path / "report.html", "block-1")
    assert last["numbers"]["tolerance_E"] == 1e-5 and "detail" not in last, "what is empty is left out"
    assert main(["report", str(path), "--without-details"]) == 0
    assert 'id="block-0"' not in (tmp_path / "report.html").read_text("utf-8")


def test_scripts_run_only_by_their_digest(results: Path) -> None:
    assert main(["report", str(results)]) == 0
    page = (results.parent / "report.html").read_text("utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy and re.search(r"script-src 'sha256-\S+' 'sha256-\S+'$", policy)
    assert "unsafe-eval" not in policy and not re.search(r'(?:src|href)="https?:', page)


def test_the_same_rows_give_the_same_page(results: Path) -> None:
    pages = []
    for _ in range(2):
        assert main(["report", str(results)]) == 0
        pages.append((results.parent / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_a_damaged_bundle_in_the_cache_is_made_again(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    assert main(["report", str(results)]) == 0
    [kept] = (tmp_path / "cache" / "report").iterdir()
    whole = kept.read_bytes()
    assert b"vegaEmbed" in unpack_bytes(whole)
    kept.write_bytes(whole[: len(whole) // 2])
    assert main(["report", str(results)]) == 0
    assert kept.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "neither a results file nor a run id"),
        ("", "there is no row in it"),
        ("[1]\n", "line 1 is not a row of a results file"),
        ('{"kind": "cell", "schema": 99}\n', "line 1 has schema 99, this version reads 1"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    if content is not None:
        path.write_text(content)
    assert main(["report", str(path)]) == 2
    assert f"bench report: {path}: " in (error := capsys.readouterr().err) and message in error
    assert not (tmp_path / "report.html").exists()


def test_a_cut_line_is_a_remark(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    results.write_text(results.read_text("utf-8") + '{"kind": "ce', "utf-8")
    assert main(["report", str(results)]) == 0
    assert "line 15 is incomplete or corrupt and was ignored" in capsys.readouterr().err
    assert "line 15 is incomplete" in (results.parent / "report.html").read_text("utf-8")


def test_against_is_of_one_file(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    assert main(["report", str(results), str(results), "--against", str(results)]) == 2
    assert "--against: 2 results files are given" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["jinja2", "orjson", "vl_convert"])
def test_a_missing_extra_is_said(results: Path, missing: str) -> None:
    run = f"sys.modules[{missing!r}] = None; from bench_plugin.cli.main import main"
    code = f"import sys; {run}; sys.exit(main({['report', str(results)]!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "the extra 'report' brings: pip install 'bench-plugin[report]'" in done.stderr
    assert missing.replace("vl_convert", "vl-convert-python") in done.stderr


def test_rows_without_pictures_have_no_plotting_library(tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", [header(), plan(1, 1)], [computed(1, numbers={})])
    assert main(["report", str(path)]) == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert ('id="plotting"' in page) == ('id="pictures-data"' in page)


def test_every_status_and_change_has_a_symbol_of_its_own() -> None:
    assert set(map(str, STATUSES)) == set(ORDER)
    for looks in (STATUSES, CHANGES):
        symbols = [symbol for symbol, _ in looks.values()]
        assert len(set(symbols)) == len(symbols), "colour is never the only sign"


def test_words_are_sorted_as_a_person_would() -> None:
    assert sorted(["17", "9", "", "opset10", "opset9"], key=natural) == ["", "9", "17", "opset9", "opset10"]


def test_what_is_packed_is_unpacked() -> None:
    data = bytes(range(256)) * 40
    assert unpack_bytes(pack_bytes(data).encode()) == data
    assert pack_bytes(data) == pack_bytes(data)


def test_the_scene_differs_in_two_cells() -> None:
    changed = [now["key"] for now, before in zip(rows_now(), rows_before(), strict=True) if now != before]
    assert changed == [BROKEN_KEY, FIXED_KEY]
