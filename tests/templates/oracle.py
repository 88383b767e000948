"""jinja2, set up as Hugging Face transformers does for chat templates."""

import copy
import datetime
import functools
import json
import signal
import warnings

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW = datetime.datetime(2026, 7, 5, 14, 3, 9)  # render_cases.cc has the same


class Refused(jinja2.exceptions.TemplateError):
    """What raise_exception raises."""


class GenerationTag(jinja2.ext.Extension):
    """{% generation %}: a block that is rendered as it is, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("render_block")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    @staticmethod
    def render_block(caller):
        return caller()


def raise_exception(message):
    raise Refused(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def strftime_now(form):
    return NOW.strftime(form)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENV = environment()
# Some templates subscript a number on purpose.
warnings.simplefilter("ignore", SyntaxWarning)


@functools.lru_cache(maxsize=200)
def compiled(source):
    return ENV.from_string(source)


class TooLong(BaseException):
    """A rendering that would not end soon."""


def too_long(_signal, _frame):
    raise TooLong


def render(source, variables, seconds=5):
    """{"text": ...}, {"raised": ...}, {"failed": ...}, or None when it takes too long."""
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        # A copy: some filters change what they are given (indent adds to a list).
        text = compiled(source).render(**copy.deepcopy(variables))
        text.encode()
        return {"text": text}
    except TooLong:
        return None
    except Refused as error:
        return {"raised": str(error)}
    except Exception as error:  # whatever it is, the template failed
        return {"failed": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
