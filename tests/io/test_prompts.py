import pandas as pd
import pytest

from biaslib.io import first_prompts, read_prompts


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_prompts_from_a_file_keep_their_columns(tmp_path):
    text = '\ufeffcategory,prompt,note\nNA,"[MASK] counts, and counts.",null\nfashion,Today [MASK] sews.,\n'
    frame = read_prompts(write(tmp_path / "mine.csv", text))
    assert frame.columns.tolist() == ["category", "prompt", "note"]
    assert frame.values.tolist() == [
        ["NA", "[MASK] counts, and counts.", "null"],
        ["fashion", "Today [MASK] sews.", ""],
    ]


def test_unit_prompts_from_a_file(tmp_path):
    text = "unit,frame,gender,prompt\nverb,1,female,She [MASK] it.\nverb,1,male,He [MASK] it.\n"
    frame = read_prompts(write(tmp_path / "units.csv", text))
    assert frame.columns.tolist() == ["unit", "frame", "gender", "prompt"]
    assert frame["gender"].tolist() == ["female", "male"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt\n[MASK] is.\n", "has the columns 'prompt' but needs 'category'"),
        ("unit,prompt\nverb,He [MASK].\n", "needs 'category', 'prompt'; or 'unit', 'frame', 'gender', 'prompt'"),
        ("category,prompt\na,He is.\n", r"line 2 of .* exactly one \[MASK\]"),
        ("category,prompt\na,[MASK] is.\nb,[MASK] is [MASK].\n", r"line 3 of .* exactly one \[MASK\]"),
        ("category,prompt\na,[MASK] is.\n ,[MASK] was.\n", "line 3 of .*: no category"),
        ("category,prompt\na,[MASK] is.\na,[MASK] is.\n", r"has the prompt '\[MASK\] is\.' twice"),
        ("category,prompt\na,[MASK] is, now\n", "line 2 of .*: expected 2 fields, found 3"),
        ("unit,frame,gender,prompt\nnoun,1,male,He [MASK].\n", "unknown unit 'noun'; use one of verb, adverb, adj"),
        ("unit,frame,gender,prompt\nverb,1,he,He [MASK].\n", "unknown gender 'he'; use one of male, female"),
        (
            "unit,frame,gender,prompt\nverb,1,male,He [MASK].\n",
            "frame '1' of verb must occur once for each gender, found: male",
        ),
        ("", "is empty"),
    ],
)
def test_odd_prompt_files_give_one_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as error:
        read_prompts(write(tmp_path / "odd.csv", text))
    assert "\n" not in str(error.value) and "odd.csv" in str(error.value)


def test_unknown_prompts_name_the_known_ones():
    with pytest.raises(FileNotFoundError, match="'jobs': give a file, 'job_prompts' or 'unit_prompts'"):
        read_prompts("jobs")


def test_the_first_of_each_category():
    prompts = pd.DataFrame({"category": list("abababb"), "prompt": list("1234567")}, index=range(7, 14))
    first = first_prompts(prompts, 3)
    assert first["prompt"].tolist() == list("123456") and first.index.tolist() == list(range(7, 13))
    assert first_prompts(prompts).equals(prompts)
    for n in (0, -1, 1.5, True, "60"):
        with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
            first_prompts(prompts, n)
    with pytest.raises(ValueError, match="must have the column kind"):
        first_prompts(prompts, 1, by="kind")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("category,prompt\n", "has no prompt below its header"),
        ("category,prompt,model\na,[MASK] is.,x\n", "a column 'model'"),
        ("category,prompt\na,The  [MASK] is.\n", "line 2 of .*: write one space"),
        ("category,prompt\na,[MASK] is.\na, [MASK] is. \n", "twice"),
    ],
)
def test_odd_files_of_prompts_are_refused_by_row(tmp_path, content, message):
    path = tmp_path / "prompts.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_prompts(path)
