"""What loaders of simulated conversations share."""

from evalstats.loaders.values import as_text, dicts

_SHOWN = 200


def first_line(value: object) -> str:
    r"""Return the first line of an error message, short enough for a table.

    Examples
    --------
    >>> first_line("APIError: 500\n  at line 3"), first_line(None)
    ('APIError: 500', '')
    """
    return (as_text(value) or "").strip().partition("\n")[0][:_SHOWN]


def user_turns(messages: object) -> int | None:
    """Count the messages of the user; None where the conversation was not kept.

    Examples
    --------
    >>> user_turns([{"role": "user"}, {"role": "assistant"}]), user_turns(None)
    (1, None)
    """
    return sum(message.get("role") == "user" for message in dicts(messages)) if messages else None
