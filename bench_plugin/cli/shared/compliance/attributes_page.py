"""The page docs/attributes.md: a table of compilers from measured figures, and the published catalogues."""

from __future__ import annotations

from collections.abc import Mapping

from bench_plugin.characterise.compliance.catalogues import Catalogue
from bench_plugin.characterise.compliance.figures import Figures
from bench_plugin.report.blocks import Block, Contents, Document, Heading, Paragraph, Table, TableCell

MADE = (
    "Written by: bench attributes --markdown > docs/attributes.md, from bench_plugin/data/catalogues. An empty place "
    "is not known; nothing is filled in by guessing."
)
COMPILERS = (
    "Measured by this project. Semantic preservation: of the equivalence cells at fp32 whose result could be judged, "
    "how many compute the same function, and the largest share of a tolerance that one used (above 1 is a mismatch). "
    "Timing determinism: in how many timed cells the bits of the outputs were the same over repeats, launches and "
    "numbers of threads; how steady the times were, as medians over the cells: the 99th percentile of single calls "
    "over the median, and the standard deviation of the medians of launches. Traceability: the share of a model's "
    "nodes that its compiled graph names, fused ones included (docs/compliance.md)."
)
STEADY = (
    "Times are of the machine and the day of their run: a virtual machine with two cores, of which nobody promises "
    "that it did no other work. How steady they are says something of that machine, too."
)


def attributes_page(figures: Mapping[str, Figures], catalogues: Mapping[str, Catalogue]) -> Document:
    """The page; ``catalogues`` are by name: platforms, frameworks, models."""
    blocks: list[Block] = [Paragraph(MADE), Contents(), Heading("Compilers"), Paragraph(COMPILERS), Paragraph(STEADY)]
    blocks += [compilers_table(figures), Heading("Traceability by model"), traces_table(figures)]
    blocks += [Heading("Where the figures are from"), sources_table(figures)]
    for name, catalogue in catalogues.items():
        blocks += [Heading(name.capitalize()), Paragraph(f"As published: {catalogue.source}")]
        blocks.append(entries_table(catalogue, figures))
        blocks += [Heading(f"Attributes of {name}"), Paragraph(_unused(catalogue)), attributes_table(catalogue)]
    return Document("Attributes of compilers, platforms, frameworks and models", tuple(blocks))


def compilers_table(figures: Mapping[str, Figures]) -> Table:
    """A line per compiler."""
    heads = (
        "compiler", "preserved", "worst share of a tolerance", "same bits", "p99 / median", "spread of launches",
        "nodes named",
    )  # fmt: skip
    rows = []
    for one in figures.values():
        kept, same = one.preservation, one.determinism
        rows.append(_row(
            _title(one), _preserved(one), f"{kept.worst:.2f}" if kept and kept.worst else "", _same_bits(one),
            f"{same.p99_p50:.2f}" if same and same.p99_p50 else "", f"{same.spread:.1%}" if same else "", _named(one),
        ))  # fmt: skip
    return Table(heads, tuple(rows))


def traces_table(figures: Mapping[str, Figures]) -> Table:
    """A line per compiler and model."""
    rows = []
    for one in figures.values():
        for model in one.named:
            lost = model.nodes - model.traced - model.fused
            counts = (str(model.nodes), str(model.traced), str(model.fused), str(lost))
            rows.append(_row(_title(one), model.model, *counts, model.source))
        if one.not_readable:
            rows.append(_row(_title(one), "", "", "", "", "", one.not_readable))
    return Table(("compiler", "model", "nodes", "traced", "fused into", "lost", "read from"), tuple(rows), keys=2)


def sources_table(figures: Mapping[str, Figures]) -> Table:
    """The runs of every compiler's figures."""
    rows = []
    for one in figures.values():
        parts = (one.preservation, one.determinism)
        rows.append(_row(_title(one), *(part.run if part else "" for part in parts)))
    return Table(("compiler", "equivalence", "timing"), tuple(rows))


def entries_table(catalogue: Catalogue, figures: Mapping[str, Figures]) -> Table:
    """The entries of a catalogue; of those that we measure, our figures beside what is published."""
    keyed = [one for one in catalogue.attributes if one.key]
    measured = any("compiler" in entry for entry in catalogue.entries)
    more = ("preserved (measured)", "same bits (measured)", "nodes named (measured)") if measured else ()
    rows = []
    for entry in catalogue.entries:
        texts = [entry.get(one.key, "") for one in keyed]
        ours = figures.get(entry.get("compiler", ""))
        if measured:
            texts += [_preserved(ours), _same_bits(ours), _named(ours)] if ours else [""] * len(more)
        rows.append(_row(*texts))
    names = [f"{one.group} {one.name}" if one.group else one.name for one in keyed]
    return Table((*names, *more), tuple(rows))


def attributes_table(catalogue: Catalogue) -> Table:
    """The attributes that the source lists, and for how many entries it gives each."""
    rows = []
    for one in catalogue.attributes:
        given = sum(bool(entry.get(one.key)) for entry in catalogue.entries) if one.key else 0
        name = f"{one.group} {one.name}" if one.group else one.name
        rows.append(_row(name, one.values.replace("|", ", "), one.meaning, f"{given} of {len(catalogue.entries)}"))
    return Table(("attribute", "values", "meaning", "given"), tuple(rows))


def _unused(catalogue: Catalogue) -> str:
    missing = sum(not one.key for one in catalogue.attributes)
    return f"{len(catalogue.attributes)} attributes; the source gives no values of {missing} of them."


def _preserved(one: Figures) -> str:
    kept = one.preservation
    return f"{kept.preserved / kept.judged:.0%} ({kept.preserved} of {kept.judged})" if kept else ""


def _same_bits(one: Figures) -> str:
    return f"{one.determinism.same_bits} of {one.determinism.cells}" if one.determinism else ""


def _named(one: Figures) -> str:
    nodes = sum(model.nodes for model in one.named)
    found = sum(model.traced + model.fused for model in one.named)
    return f"{found / nodes:.0%} ({found} of {nodes})" if nodes else "not readable" if one.not_readable else ""


def _title(one: Figures) -> str:
    return f"{one.title or one.compiler} {one.version}".rstrip()


def _row(*texts: str) -> tuple[TableCell, ...]:
    return tuple(map(TableCell, texts))
