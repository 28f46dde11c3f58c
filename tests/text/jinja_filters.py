"""Expressions with filters of layout, HTML and groups, rendered with the variables of jinja_expressions.py."""

PEOPLE = ("[{'n': 'Ann', 'c': 'Rome', 'a': {'b': 2}}, {'n': 'Bob', 'c': 'oslo', 'a': {'b': 1}}, {'n': 'Cid', 'c': 'rome', 'a': {'b': 2}}, "
          "{'n': 'Dan', 'c': 'Oslo', 'a': {}}]")
LONG = ("'The quick-brown fox -- it jumped over the lazy dog---twice, well-known as e-mail or x-ray; "
        "pneumono-ultra_micro-scopic 12-3 a-b-c --flag foo--bar'")
DEEP = ("{'z': [1, 2, {'long key number one': 'some text that is rather long', 'k2': [none, true, 2.5]}], 'a': ('x',), "
        "'words': ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa']}")

FILTERS = [
    *(PEOPLE + rest for rest in (
        "| groupby('c')", "| groupby('c', case_sensitive=true)", "| groupby('n') | map('first') | list",
        "| groupby('c') | map(attribute='grouper') | list", "| groupby('c') | map(attribute='list') | map('length') | list",
        "| groupby('a.b', default=0) | map('first') | list", "| groupby(attribute='c', default='x') | length")),
    "[] | groupby('x')", "[[1, 'a'], [0, 'b'], [1, 'c']] | groupby(0)", "[3, 1, 3] | groupby(none)", "missing | groupby('x')",
    "(users | groupby('name'))[0].grouper", "(users | groupby('name'))[0].list[0].age", "(users | groupby('name'))[0].other is defined",
    "(users | groupby('name'))[0] is sequence", "[{'a': 1.0}, {'a': true}, {'a': 1}] | groupby('a')",
    "[{}, {}] | groupby('a', 'none') ", "[{}] | groupby('a')",
    "'a b/c?d=é&~_.-+%' | urlencode", "d | urlencode", "[('a b', 1), ('c/d', 'é')] | urlencode", "5 | urlencode",
    "none | urlencode", "2.5 | urlencode", "missing | urlencode", "['ab', 'cd'] | urlencode", "'' | urlencode", "{} | urlencode",
    "true | urlencode", "'🦙' | urlencode",
    "{'class': 'a b', 'id': 5, 'x': none, 'q': '\"<&>'} | xmlattr", "{'a': 1} | xmlattr(false)", "{} | xmlattr", "{'a': missing} | xmlattr",
    "{'a': 1, 'b': 2} | xmlattr(autospace=false)", "{'é': [1]} | xmlattr", "{'': true} | xmlattr", "{'a\\u2003b': 1} | xmlattr",
    "'<b>\"x\" & \\'y\\'</b>' | forceescape", "5 | forceescape", "none | forceescape",
    *("'" + text + "' | striptags" for text in (
        "<p>Hello <b>World</b></p>", "a <!-- no <b> --> b", "a <!-- open", "a < b", "a > b <", "  x \\n y <br/>z ", "<!-<!-- x -->- y -->z",
        "<<a>b>c", "&lt;b&gt; &amp;amp; &quot;&#39;&#x27;&#X41; &apos;", "R&D &copy 2024 &copyright &notit &hellip; &mdash;&nbsp;x",
        "&#0;&#128;&#x80;&#xD800;&#x110000;&#99999999999999;&#11;&#xFDD0;&#x1FFFE;|&#;&#x;&;& &", "&eacute;&Eacute &AMP;&ampx &frac34&sup1",
        "&#65&#65x &#x41g", "&x;&12;&1a;", "a&b;c".replace(";", " "), "&ééé; &a é;", "", "&amp;lt;b&amp;gt;", "x&nbsp;&nbsp;y &times;", "&thetas &lang &l", "&#129;&#10;&#13;&#12;&#127;|")),
    "5 | striptags", "missing | striptags", "none | striptags",
    *(value + " | filesizeformat" for value in
      "0 1 1.0 2 999 999.9 1000 1023 1024 1500 999949 999950 1000000 123456789 1e12 1e15 1e18 1e21 1e24 1e27 1e30 -5 -0.5 true '13' '1e6' -1e20".split()),
    *(value + " | filesizeformat(true)" for value in "0 1 1000 1023 1024 1536 1048576 1e9 1e12 1e30 '2048'".split()),
    "1500 | filesizeformat(binary=true)", "n | filesizeformat", "(x * 1e308) | filesizeformat",
    *("(" + value + ") | pprint" for value in (
        "1", "none", "missing", "'a'", "''", "[]", "{}", "()", "(1,)", "[1, 'a', 2.5, none, true]", "d", "users", "range(60) | list",
        DEEP, "[" + DEEP + ", " + DEEP + "]", "'x' * 200", "'word ' * 40", "'line one\\nline two\\n' * 5", "['word ' * 40, 1]", "{'k': 'word ' * 40}",
        "('a' * 90,)", "('a' * 40, 'b' * 40)", "[['a' * 70]]", "[['a' * 71]]", "[['a' * 76]]", "{'b': 1, 'a': 2, 'B': 3}", "{1: 'a', 'b': 2, none: 3, 2.5: 4, true: 5}",
        "{'k': {'k': {'k': 'v' * 80}}}", "'ö' * 78", "'ö' * 79", "['\\'' * 80]", "'a b\\tc  d\\u2003e ' * 12", "[none] * 30", "'x ' * 39 ~ '\\n'", "'x ' * 38 ~ 'y'", "['x ' * 38 ~ 'y']",
        "{'a': 'b' * 69}", "{'a': 'b' * 70}", "{'a': 'b' * 71, 'c': 1}", "{'a': [1] * 25}", "{'a': [1] * 23, 'b': {}}", "[(1, 2)] * 12", "((1, 2),) * 12", "([1] * 30,)", "'\\n' * 60", "'a\\n' * 30 ~ 'word ' * 30")),
    *(LONG + " | wordwrap(" + arguments + ")" for arguments in (
        "", "10", "1", "5", "20", "20, false", "10, break_long_words=false", "7, true, '|'", "12, wrapstring='<br>'", "8, break_on_hyphens=false",
        "8, false, none, false", "width=3", "1000", "15, true, ''")),
    *(text + " | wordwrap(6)" for text in (
        "''", "'a'", "'   '", "'a   b   c   d'", "'  lead and trail  '", "'a\\n\\nb\\n'", "'\\n'", "'a\\tb\\tc\\td\\te'", "'abcdefghijkl'", "'abc-defghijkl'", "'---------'",
        "'a--------b'", "'ä-ö-üöäü ßßß-ßßß'", "'x\\u00a0y z\\u00a0w v'", "'a \\u2003 b \\u2003 c'", "'one\\r\\ntwo three\\x0cfour'", "'foo-bar-baz-qux'", "'1-2-3-4-5-6'", "'a1-b2-c3d-e4'",
        "'don\\'t-stop \"quo-ted\" (par-en)'", "'http://ex-am.ple/pa-th--to'", "'aa-bb'", "'aa- bb -cc'", "'e-mail-a'", "'_a-_b-__c-d'")),
    "'🦙🦙🦙 🦙🦙' | wordwrap(2)", "s | wordwrap(4)", "padded | wordwrap(3)", "'' | wordwrap(0)",
    "'a b' | wordwrap(true)",
]

FILTER_FAILURES = ["{{ " + one + " }}" for one in (
    "5 | groupby('x')", "[{'a': 1}, {'a': 'x'}] | groupby('a')", "[{}, {}] | groupby('a')", "[1] | groupby", "[1] | groupby('a', 1, 2, 3)",
    "[1] | urlencode", "['abc'] | urlencode", "'a' | urlencode(1)", "5 | xmlattr", "{'a b': 1} | xmlattr", "{'a/': 1} | xmlattr", "{'a>': 1} | xmlattr",
    "{'a=': 1} | xmlattr", "{1: 1} | xmlattr", "{'a\\x0bb': 1} | xmlattr", "'x' | filesizeformat", "none | filesizeformat", "[] | filesizeformat",
    "5 | wordwrap", "'a' | wordwrap(0)", "'a' | wordwrap(-1)", "'a' | wordwrap('x')", "'a b' | wordwrap(1, true, 5)", "1 | pprint(1, 2)", "'a' | striptags(1)",
)]
