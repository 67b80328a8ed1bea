"""A plugin for mypy: it checks the keywords of `structs.replace`, which msgspec declares as Any."""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import ARG_NAMED_OPT, ARG_POS, ARG_STAR2, CallExpr, Var
from mypy.plugin import FunctionSigContext, Plugin
from mypy.typeops import map_type_from_supertype
from mypy.types import FunctionLike, Instance, TypeVarType, get_proper_type


def _signature(context: FunctionSigContext) -> FunctionLike:
    """The function with a keyword for each field of the struct that it gets."""
    signature, call = context.default_signature, context.context
    assert isinstance(call, CallExpr)
    struct = get_proper_type(context.api.get_expression_type(call.args[0]))
    struct = get_proper_type(struct.upper_bound) if isinstance(struct, TypeVarType) else struct
    if not isinstance(struct, Instance) or ARG_STAR2 in call.arg_kinds:
        return signature
    fields = {
        name: map_type_from_supertype(symbol.node.type, struct.type, base)
        for base in reversed(struct.type.mro)
        for name, symbol in base.names.items()
        if isinstance(symbol.node, Var) and symbol.node.type and not name.startswith("__")
    }
    return signature.copy_modified(
        arg_types=[signature.arg_types[0], *fields.values()],
        arg_kinds=[ARG_POS, *[ARG_NAMED_OPT] * len(fields)],
        arg_names=[signature.arg_names[0], *fields],
    )


class StructsPlugin(Plugin):
    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        return _signature if fullname == "msgspec.structs.replace" else None


def plugin(_: str) -> type[Plugin]:
    return StructsPlugin
