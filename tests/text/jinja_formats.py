"""Expressions with str.format, rendered with the variables of jinja_expressions.py, and formats that must fail."""

import itertools

def of(values, specs):
    for value, spec in itertools.product(values.split(), specs.split()):
        yield "'[{:" + spec.replace("~", " ") + "}]'.format(" + value + ")"

FORMATS = [
    *of("'abc' 'Wörld🦙' ''", "s > >8 <8 ^8 ^9 *^8 ö^8 .2 5.2 <<5 05 .0s 8.3s 010.2 ~<6"),
    *of("0 7 -42 1234567 true", "d b o x X 5 05 <5 ^7 =+6 + ~ - #x #o #b #X 08x #010x +d , _ _x 015, 016, 014, 010_ #_b *>+9, n *=8 012_x ,d"),
    *of("0.0 -0.0 2.5 -1234567.891 1e22 1e-7 0.00012 0.1 123456.0 100.0 99.95 5e-324 1.7976931348623157e308",
        "f e g % .0f .2f .3e .3g .1% F E G n .3 .1 .10 .0 010.2f +.1f ~g #.0f #g #.1g #.6G #.2g #.0g #.3 #.6 #.1 # , ,.2f _.1f 015,.1f *^12.1f =+12.2f z z.0f +z.1f 20 <20 ^20e .17g .20f #.0e .2n"),
    *of("x*1e308 -x*1e308 x*1e308-x*1e308", "f 010 F + .2% *^9 z ,"),

    *of("65 129433 9", "c 3c *^5c <3c"),
    *("'%" + spec + "' % " + value for spec in ("#g", "#.1g", "#.2G", "#.0g", "#.0f", "#.0e") for value in "0.0 123456.0 100.0 99.95 5.0".split()),
    "'{}{}'.format(1, 'a')", "'{1}{0}'.format(1, 'a')", "'{a}{b}{a}'.format(a=1, b=[2])", "'{{}}{{{}}}'.format(1)",
    "'{0.name}{0[age]}{1[0]}{2.b}'.format(users[0], words, d)", "'{u.name!r:>8}'.format(u=users[1])",
    "'{!r}{!s}{!a}'.format('ö\\'\\n', 'ö', 'ö🦙')", "'{!r:*^9}'.format('a')", "'{!s:.2}'.format(12345)",
    "'{:{}}'.format('a', 5)", "'{:{w}.{p}}'.format(2.5, w=9, p=3)", "'{0:{1}{2}}'.format('a', '>', 4)",
    "'{}'.format(none)", "'{}|{}'.format([1, 'a'], d)", "'{}'.format(missing)",
    "'{!r}'.format(missing)", "'{!s:>3}'.format(none)", "'{0[b]}{0[items]}'.format(d)", "'{0[a][1][k]}'.format(d)",
    "'{:}'.format('a')", "'{:}'.format(none)", "'{a[b c]}'.format(a={'b c': 1})", "'{a[}]}'.format(a={'}': 1})",
    "'{0.missing}|'.format(d)", "'{0[9]}|'.format(words)", "'{:%}'.format(0.5)", "'{:>{}}'.format('x', n)",
    "'Total: {:>10,.2f} {:<5}|'.format(1234.5, 'ok')", "'{}'.format(true)", "'{:>6}'.format(true)", "'{0}{0:d}'.format(true)",
]

FORMAT_FAILURES = ["{{ " + one + " }}" for one in (
    "'{'.format(1)", "'}'.format(1)", "'{}'.format()", "'{1}'.format(1)", "'{a}'.format(1)", "'{0}{}'.format(1, 2)",
    "'{}{0}'.format(1, 2)", "'{:q}'.format(1)", "'{:d}'.format('a')", "'{:d}'.format(1.5)", "'{:s}'.format(1)",
    "'{:.2}'.format(1)", "'{:.2d}'.format(1)", "'{:+}'.format('a')", "'{:=5}'.format('a')", "'{:,}'.format('a')",
    "'{:#}'.format('a')", "'{:z}'.format(1)", "'{:z}'.format('a')", "'{:,x}'.format(10)", "'{:,_}'.format(10)", "'{:,n}'.format(10)",
    "'{:.}'.format(1.5)", "'{:5}'.format(none)", "'{:5}'.format([1])", "'{:5}'.format(missing)", "'{!x}'.format(1)",
    "'{!}'.format(1)", "'{!rx}'.format(1)", "'{:ab}'.format(1)", "'{:c}'.format(-1)", "'{:+c}'.format(65)", "'{0.}'.format(1)",
    "'{0[}'.format([1])", "'{0[]}'.format([1])", "'{0[0]x}'.format([1])", "'{:{:{:{}}}}'.format(1, 2, 3, 4)", "'{:{'.format(1)", "'{:{<5}'.format(1)", "'{:{:{}}}'.format('a', '>', 2)",
    "'{.x}'.format(1)", "'{0.x.y}'.format({})", "'{{{}'.format(1) ~ '{'.format()", "'{a{b}}'.format(a=1)", "'{:\u00e95}'.format(1)",
)]
