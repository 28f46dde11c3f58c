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

# Expressions, each rendered as {{ it }} with these variables.
VARIABLES = {
    "s": "Hello, Wörld 🦙!", "empty": "", "n": 7, "x": 2.5, "t": True, "nothing": None,
    "l": [3, 1, 2], "words": ["b", "A", "c"], "d": {"b": 1, "a": [1, {"k": "v"}], "items": 5},
    "users": [{"name": "Ann", "age": 31, "tags": ["x"]}, {"name": "bob", "age": 25, "tags": []}],
    "padded": "  a b \t c\n",
}
EXPRESSIONS = r"""
1 + 2 * 3
(1 + 2) * 3
7 // 2
-7 // 2
7 % 3
-7 % 3
7 % -3
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
7 / 2
6 / 2
1e3
1_000
0x1F
0b101
0o17
1.5e-7
1e16
123456789012345680.0
0.1 + 0.2
7.5 // 2
-7.5 % 2
x * 2
True + 1
1 == 1.0
1 == True
"a" < "b"
1 < 2 < 3
1 < 3 < 2
not 1 == 2
not t
1 and 0
0 or "x"
"" or "fallback"
n > 5 and x < 3
"ell" in s
"z" not in s
2 in l
"b" in d
"v" in d.a[1].values()
s ~ n ~ nothing ~ t
"a" "b" 'c'
"tab\tnew\nquote\"end\\ \x41 \u00e9 \U0001F999 \101 \q"
s | length
s[0]
s[-1]
s[7:12]
s[::-1]
s[::2]
s[-3:]
s[100:]
l[0]
l[-1]
l[5] is defined
l[1:]
l[::-1]
l[5:1:-1]
l[:-1]
d.b
d["b"]
d.missing is defined
d.a.1.k
d.items() | list
d.keys() | list
d.values() | list
d["items"]
d.get("b")
d.get("zz")
d.get("zz", 4)
missing
missing is defined
missing is undefined
nothing is none
nothing
t
l
d
[]
{}
()
(1,)
(1, "a", None, true)
[1, 2.0, "it's", 'say "x"', "both ' and \"", "\n\t\x01é"]
{"a": 1, 2: [true, false, none]}
users | map(attribute="name") | join(", ")
users | map(attribute="name") | map("upper") | list
users | selectattr("age", "gt", 30) | map(attribute="name") | list
users | selectattr("tags") | list | length
users | rejectattr("tags") | map(attribute="name") | first
l | select("odd") | list
l | reject("equalto", 1) | list
words | sort | join
words | sort(case_sensitive=true) | join
users | sort(attribute="age") | map(attribute="name") | join
l | sort(reverse=true)
l | min
l | max
l | sum
users | sum(attribute="age")
l | reverse | list
"abc" | reverse
[1, 1, 2, "a", "A"] | unique | list
d | dictsort | first
l | join("-")
l | first
l | last
[] | first
"" | last
s | upper
s | lower
"hello wOrld" | capitalize
"hello wOrld foo-bar (baz) it's" | title
"hello wOrld it's" .title()
padded | trim
"xxaxx" | trim("x")
padded.strip()
padded.lstrip()
padded.rstrip()
"xyaxy".strip("xy")
padded.split()
"a,b,,c".split(",")
"a,b,,c".split(",", 1)
"a,b,,c".rsplit(",", 1)
" a b  c ".split(None, 1)
" a b  c ".rsplit(None, 1)
"a</think>b</think>c".split("</think>")[-1].lstrip("\n")
"a\nb\r\nc".splitlines()
"a\nb".splitlines(true)
s.startswith("Hello")
s.startswith(("x", "He"))
s.endswith("!")
s.replace("l", "L")
s.replace("l", "L", 1)
"aaa".replace("", "-")
"aaa" | replace("a", "b", 2)
s.find("W")
s.find("zzz")
"abcabc".rfind("c")
"banana".count("an")
"-".join(["a", "b"])
"123".isdigit()
"prefix-x".removeprefix("prefix-")
"x.py".removesuffix(".py")
missing | default("d")
empty | default("d")
empty | default("d", true)
nothing | default("d")
nothing | d("e", true)
n | string ~ "!"
"12" | int
" 12 " | int
"12.7" | int
"zz" | int
"zz" | int(3)
"ff" | int(0, 16)
2.9 | int
-2.9 | int
"2.5" | float
3 | float
-3 | abs
2.5 | round
3.5 | round
2.675 | round(2)
2.45 | round(1, "ceil")
42.55 | round(1, "floor")
3 | round
[1, 2, 3] | length
d | length
"<a href='x'>&\"" | escape
"<b>" | safe
"a\nb\n\nc" | indent
"a\nb\n\nc" | indent(2, true)
"a\nb\n\nc" | indent(width=2, blank=true)
d | tojson
d | tojson(indent=2)
users | tojson
s | tojson
s | tojson(ensure_ascii=true)
"q\"b\\n\n\t\x01</script>'" | tojson
{"z": 1, "a": 2} | tojson(sort_keys=true)
{"z": 1, "a": 2} | tojson(separators=(",", ":"))
[] | tojson(indent=2)
{1: none, "f": 1.0, "e": [], "o": {}} | tojson(indent=4)
[1.5, 1e100, -0.0, true] | tojson
"a" if t else "b"
"a" if not t else "b"
"a" if not t
1 if empty else 2 if nothing else 3
n is number
t is number
s is string
l is sequence
s is sequence
d is mapping
d is iterable
l is iterable
n is iterable
t is boolean
n is boolean
n is integer
x is float
t is true
t is false
n is odd
n is even
n is divisibleby 7
n is not none
n is eq 7
n is ge(7)
2 is in l
"a" is lower
"A" is upper
n is defined and n > 3
n is not defined or n
range(3) | list
range(1, 10, 3) | list
range(3, 0, -1) | list
[1] + [2]
(1,) + (2,)
"ab" * 3
[0] * 3
"ab" + "cd"
[1, 2] == [1, 2]
[1, 2] == (1, 2)
{"a": 1} == {"a": 1.0}
[1, 2] < [1, 3]
d | items | list
dict(a=1, b="x")
[[1, 2], [3]] | map("length") | list
[[1, 2], [3]] | map("first") | sum
l | map("string") | join(",")
(1, 2), 3
1, 2
s.upper().lower()
-n
+n
--n
- x | abs
"%" ~ 5
"ß".upper() | length > 0
users[0].name[0]
users[0]["tags"][0]
n | default(1) + 1
"a" ~ "b" | upper
1 + 2 ~ 3
not missing
missing == missing
missing | length
missing | list
missing | string
missing ~ "x"
0.0
100.0
1e22
1.0e-5
3.14159265358979
[none, true, 1.5]
s | list | length
"abc" | list
"a-b_c".split("-")[1]
"banana".find("a", 2)
"banana".find("a", 2, 3)
"banana".find("", 6)
"banana".find("", 7)
"banana".find("n", -3, -1)
"banana".find("a", none, 1)
"banana".rfind("a", 0, 3)
"banana".rfind("a", 9)
"banana".count("a", 2)
"banana".count("", 2, 4)
"banana".count("", 9)
"xay".startswith("a", 1)
"xay".startswith("", 3)
"xay".startswith("", 4)
"xay".startswith(("q", "a"), 1, 2)
"xay".endswith("a", 0, 2)
"xay".endswith("a", 0, -1)
"Wörld 🦙!".find("!", 3)
"Wörld 🦙!".startswith("🦙", 6, 7)
[1, 2, 1].index(1, 1)
[1, 2, 1].index(2, -2, 3)
"a b c".split(maxsplit=1)
"a,b,c".split(sep=",", maxsplit=1)
"x\ny".splitlines(keepends=true)
"voilà Ångström, état-ÎLE «été» x\xa0y\x85z" | title
"a\x0bb\x0cc\x1cd\x1de\x1ef\x1fg\x85h\u2028i\u2029j\r\nk\rl\n" .splitlines()
"a\r\n\r\nb\x85" .splitlines(true)
"١٢".isdigit()
"١٢".isdecimal()
"1²".isdigit()
"1²".isdecimal()
"½".isdigit()
"①2".isdigit()
"".isdigit()
5 | round(-1)
15 | round(-1)
25 | round(-1)
26 | round(-1)
-25 | round(-1)
-26 | round(-1)
12345 | round(-3)
9 | round(-1)
7 | round(-30)
15.0 | round(-1)
-25.5 | round(-1)
true | round
"a\n\nb" | indent
"a\n\nb\n" | indent(2)
"a\n\nb\n" | indent(2, true, true)
"a\r\nb\rc\x85d" | indent(2)
"" | indent(2, first=true)
"\n" | indent(2)
"\n" | indent(2, blank=true)
"a\nb" | indent(width="> ", first=true)
"0x1F" | int(base=16)
"1F" | int(0, 16)
"-0b11" | int(base=2)
"0x1F" | int(base=0)
"0x_1F" | int(base=16)
"0x1F" | int
"012" | int(7, base=0)
"00" | int(7, base=0)
"012" | int
"z" | int(base=36)
"12" | int(5, 99)
"1_000" | int
"1__0" | int(5)
"_1" | int(5)
"1_" | int(5)
"+-5" | int(9)
"- 5" | int(9)
" -5 " | int
"1_0.5" | int
"1_0.5e1" | float
".5" | float
"5." | float
"." | float(3)
"1e" | float(3)
"1e400" | float
"-1e400" | float
"1e-400" | float
"0e999" | float
"nan(1)" | float(3)
"-inf" | float
"+-5" | float(9)
1e400
-1e400
1e-400
0.0e999
123456789e999999999999999999999
1e400 > 1
"a\x7f\x80é\U0001F999" | tojson(ensure_ascii=true)
"a\x7f" | tojson
["a b", "c d"] | map("replace", " ", "-") | list
[["a", "b"], ["c"]] | map("map", "upper") | map("list") | list
[{"u": users}] | map("map", attribute="name") | list | length
users | map(attribute="zip", default="?") | list
users | map(attribute="name", default=none) | list
[1, 2] | select("in", [2]) | list
[1, 2] | select("in", seq=[2]) | list
6 is divisibleby(num=3)
"abc" | replace(old="b", new="x")
"abc" | trim(chars="c")
3.14159 | round(precision=2)
3.14159 | round(2, method="floor")
namespace({"a": 1}, a=2).a
dict({"a": 1}, a=2, b=3)
d.get("zz", 4)
strftime_now("%d %b %Y")
strftime_now("%Y-%m-%d %H:%M:%S.%f|%A %B %-d|%j %p %I %y %a|%z%Z|%%|é")
strftime_now("")
"%s and %r" % ("a", "b")
"%s" % s
"%d%%" % 5
"%5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%i" % (42, 42, 42, 42, 42, 255, 255, 255, 8, 3.9)
"%d" % -3.9
"%.2f|%8.3f|%-8.1f|%08.2f|%e|%g|%G" % (3.14159, 2.5, 2.25, -1.5, 12345.678, 0.00001, 1e20)
"%f|%.0f|%g|%g" % (1, 2.5, 100000, 1000000)
"%10s|%-10s|%.2s|%c" % ("é", "é", "éèà", "x")
"%(name)s is %(age)d" % users[0]
"%s" % [1, 2]
"%s" % (none,)
"%s %s" | format("a", 1)
"%(x)s" | format(x=5)
"{} {}".format("a", 1)
"{0}{1}{0} {{}} {k}".format("a", 1, k=none)
"abc".isalpha() ~ "ab1".isalpha() ~ "".isalpha() ~ "é".isalpha() ~ "漢".isalpha()
"ab1".isalnum() ~ "a b".isalnum() ~ "½".isalnum()
" \t\n".isspace() ~ "".isspace()
"ABC".isupper() ~ "aB".isupper() ~ "1".isupper() ~ "É1".isupper()
"abc".islower() ~ "aB".islower() ~ "1".islower()
"aBcÉé1".swapcase()
"ab".ljust(5) ~ "|" ~ "ab".rjust(5, "*") ~ "|" ~ "ab".center(5) ~ "|" ~ "abc".center(6, "-") ~ "|" ~ "abcd".ljust(2)
"5".zfill(3) ~ "-5".zfill(4) ~ "+".zfill(3) ~ "abc".zfill(2) ~ "-é".zfill(1)
"abcb".index("b") ~ "abcb".rindex("b") ~ "abcb".index("b", 2)
"a=b=c".partition("=")
"a=b=c".rpartition("=")
"abc".partition("=")
"abc".rpartition("=")
{"a": 1}.copy()
[1, 2, 3, 4, 5] | batch(2) | list
[1, 2, 3, 4, 5] | batch(2, "x") | list
[1, 2, 3, 4, 5] | batch(9) | list
[] | batch(2) | list
[1, 2, 3, 4, 5] | slice(3) | list
[1, 2, 3, 4, 5] | slice(3, "x") | list
[1, 2] | slice(4, 0) | list
"abc" | center(9) ~ "|"
"abcd" | center(9) ~ "|"
"abc" | center(8) ~ "|"
"hello big world" | truncate(9)
"hello big world" | truncate(9, true)
"hello big world" | truncate(9, false, "..", 0)
"hello big world" | truncate(11, leeway=4)
"hello big world" | truncate(11, leeway=3)
"hellobigworld" | truncate(9, end="")
"ééééé ééééé" | truncate(7, leeway=0)
"It's a_b c-d é 12" | wordcount
none is sameas none
true is sameas true
1 is sameas true
"upper" is filter
"nope" is filter
"odd" is test
"nope" is test
""".strip("\n").split("\n")

# Whole templates: (name, template, context).
TEMPLATES = [
    ("trim", "{% if true %}\n  yes\n{% endif %}\nend\n", {}),
    ("lstrip", "a\n    {% if true %}\n    b\n    {% endif %}\nc", {}),
    ("no lstrip for variables", "a\n    {{ 1 }}\nb", {}),
    ("text before tag", "x  {% if true %}y{% endif %}  z", {}),
    ("minus", "a  \n {%- if true -%} \n b \n {%- endif -%} \n c", {}),
    ("plus", "a\n  {%+ if true +%}\nb\n  {%+ endif %}\nc", {}),
    ("variable minus", "a  {{- 1 -}}  b", {}),
    ("variable newline kept", "{{ 1 }}\n{{ 2 }}\n", {}),
    ("comments", "a{# no #}b\n  {# x\n y #}\nc{#- z -#}  d{#+#}", {}),
    ("comment like tag", "{# {{ 1 }} {% if %} #}ok", {}),
    ("raw", "{% raw %}{{ x }} {% if %}{% endraw %}|\n  {% raw %}\n a {% endraw %}\nb", {}),
    ("raw minus", "a {%- raw -%}  {{ b }}  {%- endraw -%}  c", {}),
    ("trailing newlines", "a\n\n", {}),
    ("carriage returns", "a\r\nb\rc{{ '\r\n' }}d\r\n", {}),
    ("tabs before tag", "a\n\t {% set x = 1 %}\n{{ x }}", {}),
    ("adjacent tags", "  {% if true %}  {% if true %}\n x {% endif %}\n  {% endif %}", {}),
    ("braces", "{{ {'a': {'b': 1}}['a']['b'] }}{{ {} }}", {}),
    ("lone braces", "{ } {a} }} %} #}", {}),
    ("set", "{% set x = 1 %}{% set y, z = 2, 3 %}{{ x }}{{ y }}{{ z }}", {}),
    ("set tuple", "{% set t = 1, 2 %}{{ t }}", {}),
    ("set block", "{% set x %}a{{ 1 }}b{% endset %}{{ x }}{% set y | upper %}abc{% endset %}{{ y }}", {}),
    ("set in if leaks", "{% if true %}{% set x = 1 %}{% endif %}{{ x }}", {}),
    ("set in for does not leak", "{% set x = 0 %}{% for i in [1, 2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}", {}),
    ("namespace", "{% set ns = namespace(a=1, b='x') %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}", {}),
    ("loop variables", "{% for c in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem is defined }}{{ loop.nextitem }}{{ loop.cycle('x', 'y') }}{{ loop.changed(1) }};{% endfor %}", {}),
    ("nested loops", "{% for a in [1, 2] %}{% set outer = loop %}{% for b in 'xy' %}{{ outer.index }}{{ loop.index }}{{ a }}{{ b }} {% endfor %}{% endfor %}", {}),
    ("loop else", "{% for a in [] %}x{% else %}none{% endfor %}{% for a in missing %}x{% else %}none{% endfor %}", {}),
    ("loop filter", "{% for a in range(6) if a is even %}{{ loop.index }}/{{ loop.length }}:{{ a }} {% else %}-{% endfor %}", {}),
    ("loop unpack", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", {"d": {"x": 1, "y": 2}}),
    ("loop dict", "{% for k in d %}{{ k }}{% endfor %}", {"d": {"x": 1, "y": 2}}),
    ("loop controls", "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}", {}),
    ("elif", "{% for i in range(4) %}{% if i == 0 %}a{% elif i == 1 %}b{% elif i == 2 %}c{% else %}d{% endif %}{% endfor %}", {}),
    ("macro", "{% macro f(a, b=2, c=b) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(b=5, a=4) }}{{ f() }}", {}),
    ("macro sees globals", "{% set g = 'x' %}{% macro f() %}{{ g }}{{ h }}{% endmacro %}{{ f() }}", {"h": "y"}),
    ("macro recursion", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}", {}),
    ("macro text methods", "{% macro f() %} x {% endmacro %}{{ f() | trim }}{{ f() | length }}", {}),
    ("call block", "{% macro f(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) f(3) %}b{{ y }}{% endcall %}", {}),
    ("filter block", "{% filter upper | replace('A', 'x') %}abc{{ 'def' }}{% endfilter %}", {}),
    ("with", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", {}),
    ("print", "{% print 1, 'a' %}", {}),
    ("colon", "{% if true: %}x{% endif %}", {}),
    ("undefined attribute is empty", "[{{ d.x }}][{{ l[9] }}][{{ none }}]", {"d": {}, "l": []}),
    ("multi line tag", "{{\n  [\n 1,\n 2,\n]\n}}{% set x =\n {\n'a': 1,\n} %}{{ x }}", {}),
    ("shadowed loop", "{% for loop_messages in [1] %}{{ loop_messages }}{% endfor %}{{ loop is defined }}", {}),
    ("index lookups", "{{ m[0]['role'] }}{{ m[-1].content }}{{ m[1:][0].role }}{{ m | length }}", {"m": [{"role": "a", "content": "b"}, {"role": "c", "content": "d"}]}),
    ("none methods", "{{ 'x' if m.content is none else m.content }}{{ m.content or 'y' }}", {"m": {"content": None}}),
    ("string tests", "{% if m.content is string %}s{% else %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}", {"m": {"content": [{"type": "text", "text": "q"}, {"type": "image"}]}}),
    ("unicode names", "{{ é }}", {"é": "ok"}),
    ("recursive loop", "{% for n in t recursive %}[{{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}{{ n.v }}{% if n.c %}{{ loop(n.c) }}{% endif %}]{% endfor %}", {"t": [{"v": "a", "c": [{"v": "b"}, {"v": "c", "c": [{"v": "d"}]}]}, {"v": "e", "c": []}]}),
    ("recursive loop with a filter and else", "{% for n in t if n.v != 'b' recursive %}{{ n.v }}({{ loop(n.c) }}){{ x }}{% set x = 1 %}{% else %}-{% endfor %}", {"t": [{"v": "a", "c": [{"v": "b"}, {"v": "c", "c": []}]}], "x": 0}),
    ("recursive loop through a name", "{% for n in t recursive %}{% set outer = loop %}{% for c in n %}{{ outer(c) if c is not number else c }}{% endfor %};{% endfor %}", {"t": [[1, [[2, 3]]], [4]]}),
    ("generation", "a\n{% generation %}\n  {{ 1 }}{% set y = 2 %}\n{% endgeneration %}\nb{{ y is defined }}", {}),
    ("generation minus", "a {%- generation -%} {{ 1 }} {%- endgeneration -%} b", {}),
    ("inline if in set", "{% set x = 'a' if false %}[{{ x }}]", {}),
]

# In the manner of the templates that real models ship.
CHATS = {
    "tiny-chat": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "chatml": """{%- for message in messages %}
    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content | trim ~ '<|im_end|>' ~ '\\n' }}
{%- endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
""",
    "system first": """{%- if messages[0]['role'] == 'system' -%}
    {%- set system = messages[0]['content'] -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set system = 'You are a helpful assistant.' -%}
    {%- set turns = messages -%}
{%- endif -%}
{{ bos_token }}[SYS]{{ system }}[/SYS]
{%- for m in turns %}
    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if m.role == 'user' %}
        {{- '[INST] ' + m.content + ' [/INST]' }}
    {%- elif m.role == 'assistant' %}
        {{- ' ' + m.content + eos_token }}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported!') }}
    {%- endif %}
{%- endfor %}
""",
    "headers": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none and tools is defined %}
    {{- "Environment: ipython\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "thinking": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "parts": """{% for message in messages %}{{ message.role | capitalize }}{% if message.content is string %}: {{ message.content }}{% elif message.content[0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}{% if message.content is not string %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}{% endif %}<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}""",
}

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "It's \"fine\" <now>",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
CONVERSATIONS = [
    {"messages": [{"role": "user", "content": "What is 17 + 25?"}], "add_generation_prompt": True},
    {"messages": [{"role": "system", "content": "  Be brief.\n"}, {"role": "user", "content": " Hi 🦙 \n"},
                  {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!"},
                  {"role": "user", "content": "Zoë?"}], "add_generation_prompt": True},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "add_generation_prompt": False},
    {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], "add_generation_prompt": True},
    {"messages": [{"role": "user", "content": "Weather?"},
                  {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Köln"}}}]},
                  {"role": "tool", "content": "sunny"}], "add_generation_prompt": True, "tools": TOOLS, "enable_thinking": False},
    {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}], "add_generation_prompt": True},
]

# Both must fail: (template, context).
FAILURES = [
    "{{ 1 / 0 }}", "{{ 1 + 'a' }}", "{{ missing.x }}", "{{ missing() }}", "{{ 1 < 'a' }}", "{{ [1] < 2 }}",
    "{{ raise_exception('no') }}", "{% if %}{% endif %}", "{% if true %}", "{% endif %}", "{{ 1", "{% set x = %}",
    "{# open", "{% raw %}x", "{{ 'open }}", "{{ (1 }}", "{{ 1 ) }}", "{{ [1, 2 }}", "{% for x %}{% endfor %}",
    "{% for x in 5 %}{% endfor %}", "{{ x | nofilter }}", "{{ x is notest }}", "{% unknown %}", "{{ 5 | length }}",
    "{% set 1 = 2 %}", "{% set x.y = 2 %}", "{{ '\\x4' }}", "{{ missing | tojson }}", "{{ {[]: 1} }}", "{{ range('a') }}",
    "{{ [1, 2][::0] }}", "{% for a, b in [[1]] %}{% endfor %}", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(b=2) }}", "{{ 012 }}", "{{ 'a'.split('') }}", "{{ a b }}", "{{ }}", "{{ not }}",
    "{{ 1 is is 2 }}", "{% else %}", "{% for i in [1] %}{% else %}{% else %}{% endfor %}", "{{ 'a'.nomethod() }}",
    "{{ none.x.y }}", "{{ [1].append(2) }}", "{% set true = 1 %}", "{% break %}", "{{ none < 1 }}", "{{ x = 1 }}",
    "{{ ! }}", "{{ -'a' }}", "{{ 'a' in 5 }}", "{{ 1 | abs | nofilter }}",
    # Arguments that are too many, too few, unknown, given twice or of a wrong kind.
    "{{ 'a'.upper(1) }}", "{{ 'a'.strip(chars='a') }}", "{{ 'a'.strip('a', 'b') }}", "{{ 'a'.find() }}",
    "{{ 'a'.find('a', 0, 1, 2) }}", "{{ 'a'.find('a', 'b') }}", "{{ 'a'.startswith() }}", "{{ 'a'.startswith(('b', 1)) }}",
    "{{ 'a'.startswith(prefix='a') }}", "{{ 'a'.removeprefix('a', 1) }}", "{{ 'a'.split('b', 1, 2) }}",
    "{{ 'a'.split(foo=1) }}", "{{ 'a'.split('b', sep='b') }}", "{{ 'a'.replace('a') }}", "{{ 'a'.isdigit(1) }}",
    "{{ 'a'.join() }}", "{{ {}.get() }}", "{{ {}.items(1) }}", "{{ {}.get(1, 2, 3) }}", "{{ [1].count() }}",
    "{{ [1].index(2) }}", "{{ [1, 2].index(1, 1) }}", "{{ 'a' | upper(1) }}", "{{ 'a' | upper(1, 2) }}",
    "{{ 'a' | trim(foo=1) }}", "{{ 'a' | trim('a', 'b') }}", "{{ 'a' | trim('a', chars='a') }}", "{{ 'a' | replace('a') }}",
    "{{ [1] | first(1) }}", "{{ [1] | length(1) }}", "{{ 1 | default(1, 2, 3) }}", "{{ [1] | join(1, 2, 3) }}",
    "{{ [1] | map(attribute='a', foo=1) | list }}", "{{ [1] | selectattr | list }}", "{{ 1 | int(1, 2, 3) }}",
    "{{ 1 | round(0, 'other') }}", "{{ 5 | indent }}", "{{ 1 is odd(1) }}", "{{ 1 is divisibleby }}", "{{ 1 is eq }}",
    "{{ 1 is eq(1, 2) }}", "{{ 1 is defined(1) }}", "{{ range() }}", "{{ range(1, 2, 3, 4) }}", "{{ range(2, foo=1) }}",
    "{{ range(stop=2) }}", "{{ namespace(1, 2) }}", "{{ 1 | default(x=1, x=2) }}",
    "{{ raise_exception('a', 'b') }}", "{% for i in [1] %}{{ loop.cycle(a=1) }}{% endfor %}",
]


def render(template, context):
    try:
        return ENVIRONMENT.from_string(template).render(**context)
    except Exception:  # noqa: BLE001: any failure of Python is a failure
        return None


def main():
    cases = []
    for expression in EXPRESSIONS:
        cases.append((expression, "{{ " + expression + " }}", VARIABLES))
    cases += TEMPLATES
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
    for template in FAILURES:
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
