"""Where @huggingface/jinja is known to differ from jinja2, which is the authority.

Each entry is a reason and how to tell that a difference is of that kind. A difference of no kind
here is a failure, and so is a kind that no case needs any more.
"""

import html
import re


def both(wanted, got, change):
    return "text" in wanted and "text" in got and change(wanted["text"]) == change(got["text"])


def unspaced(text):
    return re.sub(r"\s+", "", text)


def unquoted(text):
    """Python's repr and JSON, as far as they can be told apart here, become one."""
    for word, other in (("None", ""), ("null", ""), ("True", "true"), ("False", "false"),
                        ("'", '"'), ("[", ""), ("]", "")):
        text = text.replace(word, other)
    return unspaced(text)


# Conversations in which two turns are equal.
SAME_TURNS = ("empty-content/", "unicode/", "spaces/")

REASONS = {
    "it lacks filters, tests or syntax (trim of a list, -x, integer keys, **arguments)":
        lambda source, case, wanted, got: "failed" in got,
    "what is missing or none can be added, looked into and gone over":
        lambda source, case, wanted, got: "failed" in wanted and "failed" not in got
        or "no-content/" in case and "raised" in wanted and "raised" in got,
    "strip('\\n') takes its characters for all white space":
        lambda source, case, wanted, got: re.search(r"""strip\(['"]\\n""", source) and
        both(wanted, got, unspaced),
    "lists, objects and none print as in JavaScript and JSON, not as in Python":
        lambda source, case, wanted, got: both(wanted, got, unquoted),
    "nothing is escaped when something is added to what `safe` gave":
        lambda source, case, wanted, got: "safe" in source and both(wanted, got, html.unescape),
    "objects are equal only when they are one, and '' equals false":
        lambda source, case, wanted, got: case.startswith(SAME_TURNS) and
        re.search(r"== user_messages\[-1\]|system_message != false|== loop_messages|eq\(", source),
    "an object in a text is '[object Map]'":
        lambda source, case, wanted, got: "[object" in repr(got),
}


def reason(source, case, wanted, got):
    """The reason why this difference is that engine's own, or None."""
    for name, applies in REASONS.items():
        if applies(source, case, wanted, got):
            return name
    return None
