package interlock_test

found(verdict, more) := object.union(
	{"verdict": verdict, "code": verdict, "message": sprintf("says %s", [verdict]), "rule": sprintf("test/%s", [verdict])},
	more,
)

reason(verdict) := {"code": verdict, "message": sprintf("says %s", [verdict]), "rule": sprintf("test/%s", [verdict])}

decided(findings) := decision if {
	decision := data.interlock.decision with data.interlock.rules.findings as findings
		with data.interlock.custom.findings as set()
}

test_main_denies_when_no_rule_says_anything if {
	decided(set()) == {
		"verdict": "deny",
		"reasons": [{"code": "no_rule_allows", "message": "no rule allows this call", "rule": "interlock/default"}],
		"obligations": {},
		"notes": [],
	}
}

test_main_denies_when_rules_only_oblige if {
	decision := decided({{"verdict": "none", "rule": "test/none", "obligations": {"strip": ["x"]}}})
	decision.verdict == "deny"
	decision.reasons[0].code == "no_rule_allows"
}

test_main_takes_the_strictest_verdict if {
	order := ["allow", "preview", "checkpoint", "reflect", "deny"]
	every index, verdict in order {
		findings := {found(weaker, {}) | some weaker in array.slice(order, 0, index + 1)}
		decided(findings).verdict == verdict
	}
}

test_main_asks_a_person_before_the_agent_thinks_when_the_settings_say_so if {
	later := {"reflection": {"order": "after_checkpoint"}}
	findings := {found("reflect", {}), found("checkpoint", {})}
	first := data.interlock.decision with data.interlock.rules.findings as findings
		with data.interlock.custom.findings as set()
		with data.interlock.settings as later
	first.verdict == "checkpoint"
	then := data.interlock.decision with data.interlock.rules.findings as findings
		with data.interlock.custom.findings as set()
		with data.interlock.settings as later
		with input as {"call": {"checkpoint": {"outcome": "approved"}}}
	then.verdict == "reflect"
	alone := data.interlock.decision with data.interlock.rules.findings as {found("reflect", {})}
		with data.interlock.custom.findings as set()
		with data.interlock.settings as later
	alone.verdict == "reflect"
}

test_main_gives_the_reasons_of_the_verdict_alone if {
	decision := decided({found("allow", {}), found("deny", {}), found("deny", {"code": "another"})})
	[answer.code | some answer in decision.reasons] == ["another", "deny"]
}

test_main_lets_an_approval_answer_checkpoint_and_preview if {
	every verdict in {"checkpoint", "preview"} {
		decision := data.interlock.decision with data.interlock.rules.findings as {found(verdict, {})}
			with data.interlock.custom.findings as set()
			with input as {"call": {"checkpoint": {"outcome": "approved"}}}
		decision.verdict == "allow"
		decision.reasons == [reason(verdict)]
	}
}

test_main_lets_no_approval_answer_anything_stricter if {
	every verdict in {"deny", "reflect"} {
		decision := data.interlock.decision with data.interlock.rules.findings as {found(verdict, {}), found("allow", {})}
			with data.interlock.custom.findings as set()
			with input as {"call": {"checkpoint": {"outcome": "approved"}}}
		decision.verdict == verdict
	}
}

test_main_takes_nothing_but_approved_for_an_approval if {
	every checkpoint in [null, {}, {"outcome": "denied"}, {"outcome": true}, "approved"] {
		decision := data.interlock.decision with data.interlock.rules.findings as {found("checkpoint", {})}
			with data.interlock.custom.findings as set()
			with input as {"call": {"checkpoint": checkpoint}}
		decision.verdict == "checkpoint"
	}
}

test_main_denies_verdicts_it_does_not_know if {
	every odd in [{"verdict": "alow"}, {"verdict": null}, {"rule": "test/nothing"}, "allow", 1] {
		decision := decided({odd, found("allow", {})})
		decision.verdict == "deny"
		decision.reasons[0].code == "malformed_finding"
	}
}

test_main_hears_custom_rules if {
	decision := data.interlock.decision with data.interlock.rules.findings as {found("allow", {})}
		with data.interlock.custom.findings as {found("deny", {})}
	decision.verdict == "deny"
}

test_main_denies_when_custom_findings_are_no_set if {
	verdict := data.interlock.decision.verdict with data.interlock.rules.findings as set()
		with data.interlock.custom.findings as {found("deny", {})}
	verdict == "deny"
}

test_main_collects_notes if {
	decided({found("allow", {"note": "b"}), found("none", {"note": "a"})}).notes == ["a", "b"]
}
