"""Bars of the error along a graph, on the terminal and as a page, compared literally."""

from __future__ import annotations

import math

from bench_plugin.report.pages.error_profile import Bar, page, text_bars

BARS = [
    Bar("input", "Identity", 0.0, wrong=False),
    Bar("conv<1>", "Conv", 1e-6, wrong=False),
    Bar("a/" + "long" * 10, "AnOperatorWithALongName", 1e-3, wrong=False),
    Bar("out", "Relu", 1e-1, wrong=True),
    Bar("lost", "Add", None, wrong=False),
    Bar("overflow", "Exp", math.inf, wrong=True),
    Bar("undefined", "Log", math.nan, wrong=True),
]
TEXT = """\
Identity           input                               0.00e+00 
Conv               conv<1>                             1.00e-06 ====
...orWithALongName ...onglonglonglonglonglonglonglong  1.00e-03 =========================
Relu               out                                 1.00e-01 ########################################
Add                lost                                       - 
Exp                overflow                                 inf ########################################
Log                undefined                                nan #
"""  # noqa: W291 (a tensor without a bar ends with a blank)
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>lstm &lt;1&gt;</title>
<style>body{font:14px sans-serif;margin:1.5em}svg text{font:11px sans-serif}</style></head>
<body><h1>lstm &lt;1&gt;</h1>
<p>E of every tensor end to end, in the order of the graph; logarithmic; red is out of tolerance.</p>
<svg xmlns="http://www.w3.org/2000/svg" width="930" height="116" role="img">
<g><title>input: 0.00e+00 E</title><text x="324" y="12" text-anchor="end">Identity input</text><rect x="330" y="2" width="0.0" height="12" fill="#4a7ab5"/><text x="334.0" y="12">0.00e+00</text></g>
<g><title>conv&lt;1&gt;: 1.00e-06 E</title><text x="324" y="28" text-anchor="end">Conv conv&lt;1&gt;</text><rect x="330" y="18" width="47.3" height="12" fill="#4a7ab5"/><text x="381.3" y="28">1.00e-06</text></g>
<g><title>a/longlonglonglonglonglonglonglonglonglong: 1.00e-03 E</title><text x="324" y="44" text-anchor="end">AnOperatorWithALongName ...onglonglonglonglonglonglonglong</text><rect x="330" y="34" width="330.9" height="12" fill="#4a7ab5"/><text x="664.9" y="44">1.00e-03</text></g>
<g><title>out: 1.00e-01 E</title><text x="324" y="60" text-anchor="end">Relu out</text><rect x="330" y="50" width="520.0" height="12" fill="#b00020"/><text x="854.0" y="60">1.00e-01</text></g>
<g><title>lost:  E</title><text x="324" y="76" text-anchor="end">Add lost</text><rect x="330" y="66" width="0.0" height="12" fill="#4a7ab5"/><text x="334.0" y="76"></text></g>
<g><title>overflow: inf E</title><text x="324" y="92" text-anchor="end">Exp overflow</text><rect x="330" y="82" width="520.0" height="12" fill="#b00020"/><text x="854.0" y="92">inf</text></g>
<g><title>undefined: nan E</title><text x="324" y="108" text-anchor="end">Log undefined</text><rect x="330" y="98" width="1.0" height="12" fill="#b00020"/><text x="335.0" y="108">nan</text></g>
</svg></body></html>
"""  # noqa: E501


def test_the_bars_of_a_terminal() -> None:
    assert list(text_bars(BARS, "E")) == TEXT.splitlines()
    assert next(text_bars([Bar("q", "Mul", 2.5, wrong=False)], "steps")) == f"{'Mul':18} {'q':34} {'2.5':>9} {'=' * 40}"
    assert next(text_bars([Bar("q", "Mul", None, wrong=False)], "E")) == f"{'Mul':18} {'q':34} {'-':>9} "


def test_the_page_of_bars() -> None:
    assert page(BARS, title="lstm <1>", unit="E") == PAGE
    assert "<title>q: 2.5 steps</title>" in page([Bar("q", "Mul", 2.5, wrong=False)], title="t", unit="steps")
