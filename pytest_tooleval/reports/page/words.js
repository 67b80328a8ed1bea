// @ts-check
// Words that Python says, too: `python tests/generated.py` writes them.

/** @type {Record<number, string>} */
export const ENDINGS = {"2": "interrupted", "3": "pytest internal error", "4": "pytest usage error"};
export const ABSENT = ["", "(no call)", "(absent)"];
export const NOT_SAID = "was not said";
export const WHOLE = {"conversation": "the whole conversation", "answer": "the answer"};
