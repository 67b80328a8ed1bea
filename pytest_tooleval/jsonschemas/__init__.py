"""JSON Schema (draft 2020-12), one module for each question.

Is a schema itself right? `well_formed`. What does it consist of, and to what does a `$ref` refer?
`subschemas`. Which parameters does it declare? `parameters`. What do providers refuse or hide?
`providers`.

Does a value fit, and why not? `validation`, which asks `plain` first, as jsonschema loads slowly, and
compares numbers by `exact`. Which value would fit? `values`.

What does a pattern mean, and is it in a text? `patterns`, which `ecma` rewrites for the package regex.
Which text would it match? `pattern_examples`.

A search and a validation have the same time limit, `patterns.TIMEOUT_S`. CannotCompare means that there
is no answer, because of the schema or pattern.
"""
