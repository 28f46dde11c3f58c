"""Templates that must fail, without variables."""

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
