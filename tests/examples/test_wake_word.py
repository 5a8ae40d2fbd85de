"""The wake word example: front end, network and decision are what its README says, in C too."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest

from examples.wake_word import decision, demo, front_end, results, sounds
from examples.wake_word.decision import STRIDE
from glowmcu.bundle import Bundle
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from glowmcu.verify.executors import executor
from tests.support.oracle import open_tflm

FRAMES = 123


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where bundles go, not into the repository."""
    return tmp_path_factory.mktemp("wake_word")


@pytest.fixture(autouse=True)
def _in_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def sound() -> results.Samples:
    """The sound with the wake word, then the one without."""
    return np.concatenate([sounds.read(sounds.HEARD), sounds.read(sounds.NOT_HEARD)])


@pytest.fixture
def features(sound: results.Samples) -> np.ndarray:
    return results.features_of(sound)


def test_the_front_end_is_what_its_script_writes() -> None:
    assert results.FRONT_END.read_bytes() == front_end.write()


def test_its_features_are_those_of_tensorflows_front_end(shared_dir: Path) -> None:
    samples = np.load(shared_dir / "streams" / "audio_preprocessor_int8.npz")
    session = Session(reference_graph(front_end.write(), "front_end.tflite"))
    for x, want in zip(samples["inputs"], samples["outputs"], strict=True):
        assert np.array_equal(session.run([x])[0].reshape(-1), want.reshape(-1))


def test_each_frame_of_c_is_what_the_interpreter_computes(
    sound: results.Samples, features: np.ndarray
) -> None:
    session = Session(reference_graph(results.FRONT_END.read_bytes(), "front_end.tflite"))
    for frame in range(200):
        first = frame * front_end.HOP
        (wanted,) = session.run([sound[first : first + front_end.FRAME].reshape(1, -1)])
        assert np.array_equal(features[frame], wanted)


def test_each_score_of_the_stream_is_that_of_its_whole_window(features: np.ndarray) -> None:
    scores = results.scores_of(features)
    network = open_tflm(results.INT8_MODEL.read_bytes())
    for answer in range(FRAMES // STRIDE - 1, len(scores), 7):
        end = STRIDE * (answer + 1)
        (wanted,) = network([features[end - FRAMES : end].reshape(1, FRAMES, 1, -1)])
        assert scores[answer] == wanted.reshape(-1)[0]


def test_features_go_into_the_network_as_they_are() -> None:
    (tensor,) = results.bundle(results.INT8_MODEL).manifest.inputs
    assert (tensor.scale, tensor.zero_point) == (1.0, 0)


@pytest.fixture
def pipeline() -> Bundle:
    return demo.compiled("nrf52")


def expect_both_words(seconds: tuple[float, ...]) -> None:
    """Each is heard once, when it is over or nearly so."""
    figures = results.read()
    ends = (figures["first_word_ends"], figures["second_word_ends"])
    assert len(seconds) == len(ends)
    for second, end in zip(seconds, ends, strict=True):
        assert -0.2 <= second - end <= 0.6


def test_the_word_is_heard_when_it_is_said_and_at_no_other_time(pipeline: Bundle) -> None:
    expect_both_words(demo.play(pipeline, sounds.read(sounds.HEARD), "host").seconds)
    assert demo.play(pipeline, sounds.read(sounds.NOT_HEARD), "host").seconds == ()


def test_the_pipeline_decides_as_the_figures_were_measured(
    pipeline: Bundle, sound: results.Samples, features: np.ndarray
) -> None:
    found = decision.detections(results.scores_of(features), results.chosen())
    seconds = tuple(decision.sample_of(answer) / front_end.SAMPLE_RATE for answer in found)
    assert demo.play(pipeline, sound, "host").seconds == seconds


@pytest.mark.arm
@pytest.mark.parametrize("board", demo.BOARDS)
def test_emulated_boards_hear_the_same_with_time_to_spare(board: str) -> None:
    bundle = demo.compiled(board)
    if (missing := executor("cortex-m", bundle.board).missing()) is not None:
        pytest.skip(missing)
    hearing = demo.play(bundle, sounds.read(sounds.HEARD)[: 3 * front_end.SAMPLE_RATE], "cortex-m")
    assert len(hearing.seconds) == 1
    assert abs(hearing.seconds[0] - results.read()["first_word_ends"]) < 0.6
    assert bundle.board.clock_hz is not None
    assert max(hearing.cycles) * 100 < bundle.board.clock_hz / 4


# --- decisions -----------------------------------------------------------------------------------

AVERAGED = 6
SURE = decision.Decision(AVERAGED, 255)


def scores_with(count: int, *peaks: int) -> decision.Scores:
    """Silence, and the highest score from each peak on, just long enough."""
    scores = np.full(count, -128, np.int8)
    for peak in peaks:
        scores[peak : peak + AVERAGED] = 127
    return scores


def test_a_detection_comes_with_the_last_score_of_the_mean() -> None:
    assert decision.detections(scores_with(50, 10), SURE) == [10 + AVERAGED - 1]
    short = scores_with(50, 10)
    short[10] = 126
    assert decision.detections(short, SURE) == []


def test_another_detection_comes_only_after_the_distance() -> None:
    first, last = 10, 10 + AVERAGED - 1
    for gap, count in ((decision.DISTANCE, 1), (decision.DISTANCE + 1, 2)):
        scores = scores_with(200, first, first + gap)
        assert decision.detections(scores, SURE) == [last, last + gap][:count]


def test_a_detection_belongs_to_one_word_and_else_is_false() -> None:
    end = np.array([decision.sample_of(20), decision.sample_of(120)])
    judged = decision.judge([22, 70, 118, 121], end)
    assert judged.heard.tolist() == [True, True]
    assert judged.false_accepts == 2
    assert judged.delays == pytest.approx([0.06, -0.06])


def test_the_lowest_threshold_is_the_last_but_one_that_is_wrong() -> None:
    scores = np.full(100, -128, np.int8)
    scores[20:40] = 100 - 128
    nothing = np.zeros(0, np.int64)
    for most, threshold in ((0, 101), (1, 64)):
        wanted = decision.Decision(AVERAGED, threshold)
        assert decision.lowest_threshold(scores, nothing, AVERAGED, most) == wanted


# --- what is stated ------------------------------------------------------------------------------


def test_the_readme_states_the_measured_figures() -> None:
    found = results.read()
    assert results.table(found) in results.README.read_text(encoding="utf-8")
    text = results.PIPELINE.read_text(encoding="utf-8")
    assert f"threshold = {found['threshold'] / 256} " in text
    assert f"average = {found['averaged']}\n" in text


def test_the_committed_files_stay_small() -> None:
    kinds = (".tflite", ".wav", ".json", ".toml")
    sizes = [path.stat().st_size for path in results.HERE.iterdir() if path.suffix in kinds]
    assert sum(sizes) < 250_000


def test_no_group_hears_what_is_another_groups_own() -> None:
    from examples.wake_word import noise, speech, texts

    for parts in (speech.VARIANTS, texts.NEAR_MISSES, texts.OWN_WORDS, noise.OWN_KINDS):
        every = [one for group in parts.values() for one in group]
        assert len(every) == len(set(every))
    accents = [*speech.ACCENTS, *speech.OWN_ACCENT.values()]
    assert len(accents) == len(set(accents))
    assert not {word for own in texts.OWN_WORDS.values() for word in own} & set(texts.WORDS)
    spoken = {voice.variant for _, _, voice in (*sounds.WITH_WORD, *sounds.WITHOUT_WORD)}
    assert spoken <= set(speech.VARIANTS["choosing"])


def test_the_readme_counts_what_the_groups_have() -> None:
    from examples.wake_word import speech, texts, voices

    text = results.README.read_text(encoding="utf-8")
    variants = [len(own) for own in speech.VARIANTS.values()]
    near = [len(own) for own in texts.NEAR_MISSES.values()]
    words = [len(own) for own in texts.OWN_WORDS.values()]
    drawn = f"{variants[0]}, and {len(voices.NAMES)} drawn by lot"
    assert f"variants | {drawn} | {variants[1]} | {variants[2]}, drawn by lot |" in text
    assert f"| near misses | {near[0]} | {near[1]} | {near[2]} |" in text
    assert f"| own words, three in ten | none | {words[1]} | {words[2]} |" in text


def test_a_voice_drawn_by_lot_is_the_same_every_time_and_no_other() -> None:
    from examples.wake_word import speech, voices

    files = [voices.variant(number).split("\n", 2)[2] for number in range(len(voices.NAMES))]
    assert len(set(files)) == len(files)
    assert voices.variant(5) == voices.variant(5)
    assert not set(voices.NAMES) & {name for own in speech.VARIANTS.values() for name in own}


def test_a_choice_is_the_best_of_decisions_that_are_wrong_seldom_enough() -> None:
    pytest.importorskip("torch", reason="pip install '.[examples]'")
    train = importlib.import_module("examples.wake_word.train")
    measure = importlib.import_module("examples.wake_word.measure")
    scenes = importlib.import_module("examples.wake_word.scenes")
    words, others = scores_with(2000, 100, 500), scores_with(2000)
    words[600:605] = 127  # too short for a mean of 6
    ends = [decision.sample_of(answer) for answer in (105, 505, 604)]
    said = tuple(scenes.Utterance(end, "wake", "en-us", "f3", "", 9.0) for end in ends)
    chosen = train.choose(measure.Heard("choosing", said, words, (), others))
    assert chosen.averaged < AVERAGED
    for start in (100, 300):
        others[start : start + 4] = 127
    assert train.choose(measure.Heard("choosing", said, words, (), others)).threshold > 64


# --- training ------------------------------------------------------------------------------------


def test_what_a_clip_says_of_its_means_is_where_words_end() -> None:
    pytest.importorskip("torch", reason="pip install '.[examples]'")
    clips = importlib.import_module("examples.wake_word.clips")
    stream = np.zeros((4000, front_end.BANDS), np.int8)
    frame = 1000
    cut = clips.Clips(stream, np.array([front_end.FRAME + frame * front_end.HOP]))
    rng = np.random.default_rng(1)
    _, marks = cut.batch(np.arange(cut.count), 0, rng)
    flat = marks.numpy().reshape(-1)
    newest = clips.FRAMES - 1 + (clips.TRAINED_AVERAGE - 1) * STRIDE + STRIDE * np.arange(len(flat))
    behind = newest - frame
    for first, last, value in ((-45, -4, -1), (-4, 36, 1), (36, 120, -1)):
        assert set(flat[(behind >= first) & (behind < last)]) == {value}
    assert set(flat[(behind < -45) | (behind >= 120)]) == {clips.NO_WORD}
    part = clips.MEANS * STRIDE
    edge = clips.FRAMES - 1 + (clips.TRAINED_AVERAGE - 1) * STRIDE
    offset = (frame + 10 - edge) % part  # a clip ends within the word's means
    _, marks = cut.batch(np.arange(cut.count), offset, rng)
    assert clips.ANYTHING in marks
    assert 1 not in marks


@pytest.mark.slow
def test_training_twice_gives_the_same_model_which_computes_what_torch_does() -> None:
    torch = pytest.importorskip("torch", reason="pip install '.[examples]'")
    network = importlib.import_module("examples.wake_word.network")
    learning = importlib.import_module("examples.wake_word.learning")
    clips = importlib.import_module("examples.wake_word.clips")
    rng = np.random.default_rng(1)
    stream = rng.integers(-128, 60, (4000, front_end.BANDS)).astype(np.int8)
    cut = clips.Clips(stream, np.arange(60, 600, 60) * 1000)
    recipe = dataclasses.replace(learning.RECIPE, epochs=2, batch=8)
    models = [learning.train(cut, recipe) for _ in range(2)]
    written = [network.write_tflite(model) for model in models]
    assert written[0] == written[1]
    window = stream[:FRAMES].astype(np.float32)
    with torch.no_grad():
        wanted = torch.sigmoid(models[0](torch.from_numpy(window[None]))).numpy()
    (got,) = open_tflm(written[0])([window.reshape(1, FRAMES, 1, -1)])
    np.testing.assert_allclose(got.reshape(-1), wanted.reshape(-1), atol=1e-5)
