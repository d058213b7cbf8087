"""Small bundles that misbehave on demand: what the input's `do` says."""

from interlock_gateway.policy.bundle import PolicyBundle, make_bundle

ALLOW = '{"verdict": "allow"}'

MISBEHAVING = """
package interlock

decision := {"verdict": "allow", "said": input.say} if input.do == "answer"

decision := {"verdict": "deny"} if input.do == "conflict"

decision := {"verdict": "allow"} if input.do == "conflict"

decision := {"verdict": "allow", "steps": steps} if input.do == "loop"

decision := {"verdict": "allow", "deep": deeper(0)} if input.do == "recurse"

decision := {"verdict": "allow", "size": count(bomb)} if input.do == "bomb"

decision := {"verdict": "allow", "ratio": 1 / input.zero} if input.do == "fail"

decision := {"verdict": "allow", "size": count(input.filler)} if input.do == "measure"

digits := numbers.range(1, 1000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])

bomb := {[a, b, c] | some a in digits; some b in digits; some c in digits}

deeper(n) := deeper(n + 1)
"""


def bundle(source: str = MISBEHAVING, *, profile: str = "standard") -> PolicyBundle:
    """A bundle of one module."""
    return make_bundle({"main.rego": source}, {}, profile=profile)


def answering(word: str) -> PolicyBundle:
    """A bundle that always allows and says `word`."""
    return bundle(f'package interlock\n\ndecision := {{"verdict": "allow", "said": "{word}"}}\n')
