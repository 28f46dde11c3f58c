#!/usr/bin/env python3
"""Writes data/jinja_cases.json: templates, contexts, and what Python's jinja2 makes of them.

Run by hand (python3 with jinja2 3.1) when a case is added; the tests read the file. The environment is the one that
transformers uses for chat templates."""

import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import jinja_chats
from jinja_expressions import EXPRESSIONS, VARIABLES
from jinja_failures import FAILURES
from jinja_filters import FILTER_FAILURES, FILTERS
from jinja_formats import FORMAT_FAILURES, FORMATS
from jinja_links import LINK_FAILURES, LINKS
from jinja_macros import MACROS, MACRO_FAILURES
from jinja_plain_chats import CHATS, CONVERSATIONS
from jinja_templates import TEMPLATES


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


class Generation(Extension):
    """The tag around what the assistant said, which only marks it."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("said"), [], [], body).set_lineno(line)

    def said(self, caller):
        return caller()


NOW = datetime.datetime(2026, 3, 4, 15, 6, 7, 89)  # local time, in tests/text/jinja.cpp too

ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                            extensions=[loopcontrols, Generation])
ENVIRONMENT.globals["strftime_now"] = NOW.strftime
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception


def render(template, context):
    try:
        return ENVIRONMENT.from_string(template).render(**context)
    except Exception:  # noqa: BLE001: any failure of Python is a failure
        return None


def main():
    cases = []
    for expression in EXPRESSIONS + FORMATS + FILTERS + LINKS:
        cases.append((expression, "{{ " + expression + " }}", VARIABLES))
    cases += TEMPLATES + MACROS
    for name, template in CHATS.items():
        for number, conversation in enumerate(CONVERSATIONS):
            context = {"bos_token": "<s>", "eos_token": "</s>", **conversation}
            cases.append((f"{name} {number}", template, context))
    for name, template in jinja_chats.FAMILIES.items():
        for number, conversation in enumerate(jinja_chats.CONVERSATIONS):
            context = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True, **conversation}
            cases.append((f"{name} {number}", template, context))
    rows = []
    for name, template, context in cases:
        shared = context is VARIABLES
        expected = render(template, context)
        known = {*CHATS, *jinja_chats.FAMILIES}
        if expected is None and not name.split(" ")[0] in known and not name.startswith("system first"):
            print("fails in Python:", name)
        rows.append({"name": name, "template": template, "expected": expected,
                     **({} if shared else {"context": context})})
    for template in FAILURES + MACRO_FAILURES + FORMAT_FAILURES + FILTER_FAILURES + LINK_FAILURES:
        if render(template, {}) is not None:
            print("does not fail in Python:", template)
            continue
        rows.append({"name": template, "template": template, "context": {}, "expected": None})
    path = pathlib.Path(__file__).parent / "data" / "jinja_cases.json"
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text('{"variables": ' + json.dumps(VARIABLES, ensure_ascii=False) + ',\n"cases": [\n' + body + "\n]}\n")
    print(len(rows), "cases")


if __name__ == "__main__":
    main()
