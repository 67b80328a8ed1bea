// @ts-check
// Words that Python says, too: `python tools/generated.py` writes them.

export const ABSENT = ["", "(no call)", "(absent)"];
export const NOT_SAID = "was not said";
export const WHOLE = {"conversation": "the whole conversation", "answer": "the answer"};
