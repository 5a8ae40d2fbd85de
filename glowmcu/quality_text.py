"""What is said of a quantization's quality: in the terminal, in messages, in reports and notes."""

from __future__ import annotations

from glowmcu.number_text import count, counted
from glowmcu.quality import LOW_SQNR_DB, HarmfulLayer, Origin, QualityEntry, RemedyEntry, percent

#: Of a quantization by a profile of which nobody has measured what it comes to.
NOT_MEASURED = (
    "what quantization loses was not measured for these options: --samples DATA beside the profile "
    "does that, or a profile made by this version"
)
#: Of weights of four bits if no samples said which way to round them.
ROUNDED_ALONE = (
    "weights of four bits were rounded one by one: --samples DATA beside the profile rounds them "
    "to suit the data, which loses less"
)
_LONGEST_NAME = 48
#: What layers of 16 bits are told by in the words of a choice.
_WIDE = "int16:"
#: Choices besides the one that was taken.
_MOST_RIVALS = 2
_SEEN = {
    Origin.HELD_BACK.value: "held back from calibration",
    Origin.CALIBRATION.value: "of the calibration itself: too few to hold any back",
    Origin.GIVEN.value: "given beside the profile",
}


def quality_sentences(entry: QualityEntry) -> list[str]:
    """The figures, and where the error comes from."""
    stage = f"{entry.stage}: " if entry.stage else ""
    samples = f"{counted(entry.samples, 'sample')} {_SEEN[entry.origin]}"
    lines = [f"{stage}{entry.figures.text}, on {samples}"]
    if entry.streamed is not None:
        lines.append(
            "the model has states: this is of single steps, each from float's; along whole "
            f"sequences with its own states {entry.streamed.text}"
        )
    lines += _choice_lines(entry)
    lines += _bits_lines(entry)
    if entry.worst:
        lines.append(f"most of the error: {', '.join(map(_layer_text, entry.worst))}")
    return lines


def _choice_lines(entry: QualityEntry) -> list[str]:
    """What was chosen, what of, and why where another one loses less."""
    chosen = next((one for one in entry.tried if one.is_chosen), None)
    others = [one for one in entry.tried if not one.is_chosen]
    if chosen is None:
        return []
    begins = f"chosen by the samples: {chosen.choice}"
    if _WIDE in chosen.choice and any(_WIDE not in one.choice for one in others):
        usual = [one.figures.text for one in others if one.choice == "defaults"]
        than = f", where defaults come to {usual[0]}" if usual else ""
        return [f"{begins}, the cheapest 16 bits that are enough: {chosen.figures.text}{than}"]
    rivals = ", ".join(f"{one.choice} {one.loss:.2f}" for one in others[:_MOST_RIVALS])
    behind = f"; next {rivals}" if rivals else ""
    if others and others[0].loss < chosen.loss:
        behind += ", which may be chance"
    return [f"{begins}, error {chosen.loss:.2f} of what defaults give{behind}"]


def _bits_lines(entry: QualityEntry) -> list[str]:
    """Which layers have weights of four bits, if that was chosen, and what others would lose."""
    if not entry.bits:
        return []
    narrow = [layer.node for layer in entry.bits if layer.bits == 4]
    share = sum(layer.weights for layer in entry.bits if layer.bits == 4)
    share_text = percent(share / max(sum(layer.weights for layer in entry.bits), 1))
    if not narrow:
        return ["weights of four bits: no layer bears them"]
    kept = [f"{one.node} {one.loss:.2f}" for one in entry.bits if one.bits != 4]
    behind = f"; eight for {', '.join(kept)} (error with four alone)" if kept else ""
    return [f"weights of four bits: {', '.join(narrow)}, {share_text} of the weights{behind}"]


def warning_notes(entry: QualityEntry) -> list[str]:
    """Questions about the samples, what is too low, and what helps; empty if all is well."""
    asked = [f"{entry.stage}: {note}" if entry.stage else note for note in entry.notes]
    if entry.drifts:
        asked.append(
            f"errors of single steps add up: along whole sequences with its own states SQNR is "
            f"{entry.held.sqnr_db:.1f} dB, below {LOW_SQNR_DB:g} dB, whatever single steps come to"
        )
    if not entry.shortfalls:
        return asked
    stage = f" of {entry.stage}" if entry.stage else ""
    helps = [remedy_text(remedy) for remedy in entry.remedies]
    if not helps:
        helps = ["nothing that was tried helps: glowmcu tune tries more"]
    return [*asked, f"quantization{stage} loses much: {'; '.join((*entry.shortfalls, *helps))}"]


def remedy_text(remedy: RemedyEntry) -> str:
    """What to add to the command, what it gives and what it costs."""
    begins = "add" if remedy.is_enough else "not enough, but the best that was tried: add"
    return (
        f"{begins} {remedy.arguments} for {remedy.figures.text}, at {_signed(remedy.cycles)} "
        f"cycles, {_signed(remedy.arena_bytes)} B of arena and {_signed(remedy.flash_bytes)} B of "
        "flash (estimated)"
    )


def _layer_text(layer: HarmfulLayer) -> str:
    name = layer.node or f"storing {layer.tensor}"
    if len(name) > _LONGEST_NAME:
        name = f"…{name[-_LONGEST_NAME:]}"
    return f"{name} {percent(layer.share)}"


def _signed(number: int) -> str:
    return ("+" if number >= 0 else "-") + count(abs(number))
