"""The `tooleval` command: what may go wrong around it is said in a line."""

from __future__ import annotations

import os
import sys


def main() -> None:
    try:
        # Ctrl-C may come while this is imported.
        from .cli import main as tooleval

        try:
            tooleval(prog_name="tooleval")
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("Aborted!", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:  # of no concern to the output
            raise
        print(f"Error: cannot write the output: {error.strerror}", file=sys.stderr)
        # Python writes the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


if __name__ == "__main__":
    main()
