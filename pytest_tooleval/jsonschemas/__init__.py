"""JSON Schema (draft 2020-12).

Schemas: `well_formed` checks that one is valid, `subschemas` finds its parts and the targets of `$ref`,
and replaces keywords of older drafts by today's, `parameters` finds the parameters that it declares, and
`providers` the parts that providers reject or hide.

Values: `validation` says whether a value is valid, and why not. It compares numbers by `exact`, and
reads texts as lenient tools do. `values` makes values that fit, also patterns.

Patterns: `patterns` compiles them and searches texts, and `ecma` rewrites them for the package regex.

A search and a validation have the same time limit, `patterns.TIMEOUT_S`. CannotCompare means that the
schema or pattern allows no answer.
"""
