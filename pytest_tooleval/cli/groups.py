"""What the commands share: groups that suggest a command, and options that are shares."""

from __future__ import annotations

from typing import Any

import click

from ..text import near, printable, read_share


class Group(click.Group):
    """A group of commands that suggests one for a misspelt name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and (hint := near(name, self.list_commands(ctx))):
            ctx.fail(f"no command {printable(name)}{hint}")
        return super().resolve_command(ctx, args)


class Share(click.FloatRange):
    """A number such as 0.9, or a percentage."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and value.endswith("%"):
            value = read_share(value)
        return super().convert(value, param, ctx)
