"""JSON Schema (draft 2020-12).

Schemas: `well_formed` checks that one is valid, `subschemas` finds its parts and the targets of `$ref`,
`parameters` the parameters that it declares, and `providers` the parts that providers reject or hide.
`older` replaces keywords of older drafts by today's.

Values: `validation` says whether a value is valid, and why not. It compares numbers by `exact`. `parsed`
reads texts as lenient tools do. `values` makes values that fit.

Patterns: `patterns` compiles them and searches texts, `ecma` rewrites them for the package regex, and
`pattern_examples` makes texts that match.

A search and a validation have the same time limit, `MATCH_TIMEOUT_S`. CannotCompare means that the
schema or pattern allows no answer.
"""
