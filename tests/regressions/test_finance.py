"""The finance case: the generator of filings, the queries, the readers, and why a reader misses."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from resstream.errors import TrainingError
from resstream.induction import filings, finance
from resstream.induction.filings import Company, Corpus, Filing, Query, symbol
from resstream.induction.settings import Settings


@pytest.fixture(scope="module")
def documents() -> Corpus:
    return filings.corpus(3, training=60, test=30)


def words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def filing_of(text: str, *names: str) -> Filing:
    """A filing from a text, with every full occurrence of the names."""
    words = words_of(text)
    mentions = [
        (start, words_of(name))
        for name in names
        for start in range(len(words))
        if words[start : start + len(words_of(name))] == words_of(name)
    ]
    return Filing(words, Company(words_of(names[0]), "test"), tuple(sorted(mentions)))


# ---- the generator ----------------------------------------------------------


def test_three_quarters_of_the_sectors_are_for_training() -> None:
    known, held_out = filings.roster(np.random.default_rng(0))
    assert len({company.sector for company in known}) == 9
    assert len({company.sector for company in held_out}) == 3
    assert not {company.sector for company in known} & {company.sector for company in held_out}
    names = [company.name for company in known + held_out]
    assert len(set(names)) == len(names) == 72
    assert {len(name) for name in names} == {2, 3, 4}


def test_no_word_of_a_held_out_name_occurs_in_training(documents: Corpus) -> None:
    training = {word for document in documents.training for word in document.words}
    held_out = {word for document in documents.unseen for _, name in document.mentions for word in name}
    assert not training & held_out
    seen = {name for document in documents.seen for _, name in document.mentions}
    assert seen <= {company.name for company in filings.roster(np.random.default_rng([3, 0]))[0]}


def test_sector_words_belong_to_one_sector_and_to_no_sentence() -> None:
    words = [word for middle, last in filings.SECTORS.values() for word in middle + last]
    assert len(set(words)) == len(words)
    assert not set(words) & {word for sentence in filings.SENTENCES for word in sentence.split()}


def test_a_filing_names_its_company_in_full_again_and_mentions_others(documents: Corpus) -> None:
    for document in documents.training:
        assert len(document.words) > filings.WINDOW
        names = [name for _, name in document.mentions]
        assert names.count(document.about.name) >= 2
        for start, name in document.mentions:
            assert document.words[start : start + len(name)] == name
    mentioned = [len({name for _, name in document.mentions}) for document in documents.training]
    assert np.mean(mentioned) > 2


def test_a_corpus_is_decided_by_its_seed(documents: Corpus) -> None:
    assert filings.corpus(3, training=60, test=30) == documents
    assert filings.corpus(4, training=60, test=30) != documents


def test_fresh_names_are_never_met_twice() -> None:
    fresh = filings.fresh_filings(0, 40)
    firsts = [{name for _, name in document.mentions} for document in fresh]
    assert len(set.union(*firsts)) == sum(len(names) for names in firsts)


def test_a_filing_needs_three_companies() -> None:
    two = filings.fresh_companies(np.random.default_rng(0), 2)
    with pytest.raises(TrainingError, match="companies: a filing mentions three, got a list of 2"):
        filings.filings(np.random.default_rng(0), two, 1)


# ---- symbols ----------------------------------------------------------------


def test_the_hash_is_stable() -> None:
    assert [symbol(word) for word in ("annual", "report", "bancorp")] == [
        hashlib.blake2b(word.encode(), digest_size=1).digest()[0] for word in ("annual", "report", "bancorp")
    ]
    assert filings.symbols(["the", "company"]).tolist() == [135, 232]


def test_collisions_are_counted(documents: Corpus) -> None:
    found = filings.collisions(documents.training)
    vocabulary = {word for document in documents.training for word in document.words}
    symbols = [symbol(word) for word in vocabulary]
    assert found.words == len(vocabulary)
    assert found.symbols == len(set(symbols))
    assert found.colliding_words == sum(symbols.count(value) > 1 for value in symbols)
    assert 0 < found.colliding_name_words < found.name_words


# ---- queries ----------------------------------------------------------------


def test_a_query_is_a_word_of_a_name_given_in_full_before() -> None:
    document = filing_of("Ada Corp Ltd sold Bo Ltd to Ada Corp Ltd and Ada left", "Ada Corp Ltd", "Bo Ltd")
    found = filings.queries([document])
    assert [(query.window[-1], query.answer, query.place) for query in found] == [
        ("Ada", "Corp", 7),
        ("Corp", "Ltd", 8),
    ]


def test_the_earlier_mention_lies_within_48_words() -> None:
    near = filing_of("Ada Ltd " + "x " * 46 + "Ada Ltd", "Ada Ltd")
    far = filing_of("Ada Ltd " + "x " * 47 + "Ada Ltd", "Ada Ltd")
    assert [query.place for query in filings.queries([near])] == [48]
    assert filings.queries([far]) == []


def test_queries_are_those_of_a_plain_search(documents: Corpus) -> None:
    expected = []
    for document in documents.seen:
        text = document.words
        for start, name in document.mentions:
            for place in range(start, start + len(name) - 1):
                before = range(max(0, place - 48), start)
                if any(text[k : k + len(name)] == name and k + len(name) <= start for k in before):
                    expected.append((text, place))
    assert [(query.filing.words, query.place) for query in filings.queries(documents.seen)] == expected
    assert len(expected) > 100


def test_a_window_is_the_last_48_words() -> None:
    document = filing_of("Ada Ltd " + "x " * 60 + "Ada Ltd", "Ada Ltd")
    query = Query(document, 62, ("Ada", "Ltd"))
    assert query.window == ("x",) * 47 + ("Ada",)
    assert Query(document, 1, ("Ada", "Ltd")).window == ("Ada", "Ltd")


# ---- readers ----------------------------------------------------------------


def test_the_bigram_table_takes_the_most_frequent_successor() -> None:
    training = [filing_of("Ada Corp met Ada Corp near Ada Bank", "Ada Corp")]
    asked = [
        Query(filing_of("Ada Corp", "Ada Corp"), 0, ("Ada", "Corp")),
        Query(filing_of("Unheard Of", "Unheard Of"), 0, ("Unheard", "Of")),
    ]
    assert finance.bigram_reader(training)(asked).tolist() == [symbol("Corp"), -1]
    assert finance.completed(finance.bigram_reader(training), asked).tolist() == [True, False]


def test_model_readers_do_not_see_beyond_the_query(documents: Corpus) -> None:
    from resstream.induction.reproduce import shipped_models

    asked = filings.queries(documents.unseen)[:60]
    reader = finance.model_reader(shipped_models()["two_layers"])
    together = reader(asked)
    assert together.tolist() == [reader([query])[0] for query in asked]
    cut = [replace(query, filing=replace(query.filing, words=query.filing.words[: query.place + 1])) for query in asked]
    assert together.tolist() == reader(cut).tolist()


def test_no_queries_are_refused() -> None:
    with pytest.raises(TrainingError, match="queries: the test filings hold none"):
        finance.completed(lambda asked: np.zeros(0), [])  # noqa: ARG005


# ---- contexts ---------------------------------------------------------------


def colliding_pair() -> tuple[str, str]:
    """Two words of one symbol."""
    seen: dict[int, str] = {}
    for k in range(1000):
        word = f"w{k}"
        if symbol(word) in seen:
            return seen[symbol(word)], word
        seen[symbol(word)] = word
    raise AssertionError


def test_contexts_are_told_apart() -> None:
    same, other = colliding_pair()

    def context(text: str) -> str:
        words = words_of(text)
        return finance.context_of(Query(filing_of(text, " ".join(words[-2:])), len(words) - 2, words[-2:]))

    pad = "p q r s t u v " * 2
    assert context(f"{same} Ltd {pad} {same} Ltd") == "clear"
    assert context(f"{same} Ltd {pad} {same} sold {pad} {same} Ltd") == "words"
    assert context(f"{same} Ltd {pad} {other} sold {pad} {same} Ltd") == "collision"
    assert context(f"{same} Ltd {pad} {other} Ltd {pad} {same} Ltd") == "clear"
    assert context(f"{same} Ltd {pad} {pad} {pad} {same} Ltd") == "far"
    assert context(f"{pad} {pad} {pad} {same} Ltd a b c {same} Ltd") == "near"


def test_misses_are_counted_by_context(documents: Corpus) -> None:
    asked = filings.queries(documents.unseen)
    right = np.arange(len(asked)) % 3 > 0
    answers = filings.symbols([query.answer for query in asked])
    found = finance.analyse_misses(lambda _: np.where(right, answers, -1), asked)
    contexts = [finance.context_of(query) for query in asked]
    assert (found.queries, found.missed) == (len(asked), int((~right).sum()))
    for name in finance.CONTEXTS:
        missed = sum(context == name and not hit for context, hit in zip(contexts, right, strict=True))
        assert found.share_of_misses[name] == missed / found.missed
        assert found.share_of_queries[name] == contexts.count(name) / len(asked)
        assert found.accuracy[name] == pytest.approx(1 - missed / contexts.count(name), rel=1e-14)
    assert sum(found.share_of_misses.values()) == pytest.approx(1, rel=1e-14)


# ---- training on filings ----------------------------------------------------


def test_training_windows_are_pieces_of_filings(documents: Corpus) -> None:
    batch = finance.filing_source(documents.training)(Settings(), 5)
    texts = [" ".join(map(str, filings.symbols(document.words))) for document in documents.training]
    assert batch.inputs.shape == batch.targets.shape == (32, 48)
    assert batch.scored.all()
    for inputs, target in zip(batch.inputs, batch.targets[:, -1:], strict=True):
        window = " ".join(map(str, np.concatenate([inputs, target])))
        assert any(window in text for text in texts)
    assert (finance.filing_source(documents.training)(Settings(), 5).inputs == batch.inputs).all()


def test_a_filing_too_short_to_train_on_is_refused() -> None:
    with pytest.raises(TrainingError, match="filings: number 0 has 3 words, too few for 48 and a target"):
        finance.filing_source([filing_of("Ada Ltd sold", "Ada Ltd")])(Settings(), 0)
