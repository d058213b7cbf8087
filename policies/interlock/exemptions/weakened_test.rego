package interlock_test

then := 1767225600

entry(more) := object.union(
	{
		"rule": "test/deny",
		"scope": {"everything": true},
		"scope_text": "everything",
		"reason": "because",
		"owner": "platform",
		"becomes": "allow",
		"expires": "2026-06-01T00:00:00Z",
		"expires_unix_s": then + 60,
	},
	more,
)

exempting(entries) := {
	"never": {"test/never": "why"},
	"entries": entries,
	"by_rule": {one.rule: {"any": {"": ids_for(entries, one.rule)}} | some one in entries},
}

ids_for(entries, rule) := [id | some id, one in entries; one.rule == rule]

decided_with(findings, exemptions, call) := decision if {
	decision := data.interlock.decision with data.interlock.rules.findings as findings
		with data.interlock.custom.findings as set()
		with data.interlock.exemptions as exemptions
		with input as call
}

at(time) := {"call": {"time_unix_s": time}, "principal": {"id": "agent-1"}, "tool": {"name": "notes.set"}}

note(id, rule, verdict, becomes) := sprintf(
	"exemption %s (platform): %s %s becomes %s until 2026-06-01T00:00:00Z",
	[id, rule, verdict, becomes],
)

test_exemption_makes_a_finding_as_weak_as_it_says_and_is_reported if {
	every becomes in {"allow", "preview", "checkpoint"} {
		decision := decided_with({found("deny", {})}, exempting({"e": entry({"becomes": becomes})}), at(then))
		decision.verdict == becomes
		decision.reasons == [reason("deny")]
		decision.notes == [note("e", "test/deny", "deny", becomes)]
		decision.exemptions == [{
			"id": "e",
			"rule": "test/deny",
			"scope": "everything",
			"reason": "because",
			"owner": "platform",
			"expires": "2026-06-01T00:00:00Z",
		}]
	}
}

test_exemption_leaves_the_obligations_of_a_finding if {
	findings := {found("deny", {"obligations": {"strip": ["x"]}, "note": "said before"})}
	decision := decided_with(findings, exempting({"e": entry({})}), at(then))
	decision.verdict == "allow"
	decision.obligations == {"strip": ["x"]}
	decision.notes == [note("e", "test/deny", "deny", "allow"), "said before"]
}

test_exemption_is_for_its_own_rule if {
	decision := decided_with({found("deny", {})}, exempting({"e": entry({"rule": "test/another"})}), at(then))
	decision.verdict == "deny"
	decision.notes == []
}

test_exemption_ends_at_its_time if {
	exemptions := exempting({"e": entry({})})
	decided_with({found("deny", {})}, exemptions, at(then + 59.9)).verdict == "allow"
	every late in [60, 61, 1e12] {
		decision := decided_with({found("deny", {})}, exemptions, at(then + late))
		decision.verdict == "deny"
		decision.notes == []
	}
}

test_exemption_needs_a_time_of_the_call if {
	every call in [{}, {"call": {}}, at(null), at("1"), at(false), at([])] {
		decided_with({found("deny", {})}, exempting({"e": entry({})}), call).verdict == "deny"
	}
}

test_exemption_needs_an_end_and_a_scope if {
	every broken in [
		json.remove(entry({}), ["expires_unix_s"]),
		entry({"expires_unix_s": "never"}),
		json.remove(entry({}), ["scope"]),
		json.remove(entry({}), ["becomes"]),
		entry({"becomes": "nothing"}),
	] {
		decided_with({found("deny", {})}, exempting({"e": broken}), at(then)).verdict == "deny"
	}
}

test_exemption_strengthens_nothing if {
	every verdict in {"allow", "preview", "checkpoint"} {
		exemptions := exempting({"e": entry({"rule": sprintf("test/%s", [verdict]), "becomes": "checkpoint"})})
		decision := decided_with({found(verdict, {})}, exemptions, at(then))
		decision.verdict == verdict
		decision.notes == []
	}
	only := {{"verdict": "none", "rule": "test/none", "obligations": {"strip": ["x"]}}}
	decided_with(only, exempting({"e": entry({"rule": "test/none"})}), at(then)).verdict == "deny"
}

test_exemption_of_a_rule_that_is_never_exempted_has_no_effect if {
	exemptions := exempting({"e": entry({"rule": "test/never"})})
	decided_with({found("deny", {"rule": "test/never"})}, exemptions, at(then)).verdict == "deny"
}

test_exemption_does_not_answer_malformed_findings_and_contradictions if {
	exemptions := exempting({"e": entry({}), "f": entry({"rule": "interlock/findings"})})
	decided_with({found("deny", {"verdict": "dney"})}, exemptions, at(then)).verdict == "deny"
	findings := {
		found("deny", {"obligations": {"approvers": ["a"]}}),
		found("allow", {"obligations": {"approvers": ["b"]}}),
	}
	decided_with(findings, exemptions, at(then)).reasons[0].code == "no_common_approver"
}

test_exemption_of_one_finding_leaves_the_others if {
	decision := decided_with({found("deny", {}), found("checkpoint", {})}, exempting({"e": entry({})}), at(then))
	decision.verdict == "checkpoint"
	decision.reasons == [reason("checkpoint")]
	decision.notes == [note("e", "test/deny", "deny", "allow")]
}

test_exemption_that_takes_a_reason_away_is_reported if {
	findings := {found("deny", {}), found("deny", {"rule": "test/other"})}
	decision := decided_with(findings, exempting({"e": entry({})}), at(then))
	decision.verdict == "deny"
	[answer.rule | some answer in decision.reasons] == ["test/other"]
	decision.notes == [note("e", "test/deny", "deny", "allow")]
}

test_exemption_that_changes_nothing_is_not_reported if {
	exemptions := exempting({"e": entry({"rule": "test/checkpoint"})})
	decision := decided_with({found("deny", {}), found("checkpoint", {})}, exemptions, at(then))
	decision.verdict == "deny"
	decision.notes == []
	approved := object.union(at(then), {"call": {"checkpoint": {"outcome": "approved"}}})
	granted := decided_with({found("checkpoint", {})}, exemptions, approved)
	granted.verdict == "allow"
	granted.notes == []
}

test_exemption_that_weakens_most_counts if {
	exemptions := exempting({
		"a": entry({"becomes": "checkpoint"}),
		"b": entry({"becomes": "preview"}),
		"c": entry({"becomes": "allow", "scope": {"tools": {"another": true}}}),
		"d": entry({"becomes": "preview"}),
	})
	decision := decided_with({found("deny", {})}, exemptions, at(then))
	decision.verdict == "preview"
	decision.notes == [note("b", "test/deny", "deny", "preview")]
}

test_exemption_is_found_by_principal_and_tool if {
	by_principal := {
		"never": {},
		"entries": {"e": entry({"scope": {"principals": {"agent-1": true}}})},
		"by_rule": {"test/deny": {"principals": {"agent-1": ["e"]}}},
	}
	by_tool := {
		"never": {},
		"entries": {"e": entry({"scope": {"tools": {"notes.set": true}}})},
		"by_rule": {"test/deny": {"tools": {"notes.set": ["e"]}}},
	}
	every exemptions in [by_principal, by_tool] {
		decided_with({found("deny", {})}, exemptions, at(then)).verdict == "allow"
		decided_with({found("deny", {})}, exemptions, {"call": {"time_unix_s": then}}).verdict == "deny"
	}
}

test_an_own_rule_allows_nothing_that_no_other_allows if {
	decision := data.interlock.decision with data.interlock.rules.findings as set()
		with data.interlock.custom.findings as {found("allow", {"note": "heard", "obligations": {"strip": ["x"]}})}
	decision.verdict == "deny"
	decision.reasons[0].code == "no_rule_allows"
}

test_an_own_rule_asks_nobody_about_what_no_other_decides if {
	every asking in {"preview", "checkpoint", "reflect"} {
		own := {found(asking, {"rule": "test/own"})}
		decision := data.interlock.decision with data.interlock.rules.findings as {found("none", {"note": "a"})}
			with data.interlock.custom.findings as own
		decision.verdict == "deny"
		asked := data.interlock.decision with data.interlock.rules.findings as {found("allow", {"rule": "test/shipped"})}
			with data.interlock.custom.findings as own
		asked.verdict == asking
	}
}

test_an_own_rule_that_allows_still_obliges if {
	decision := data.interlock.decision with data.interlock.rules.findings as {found("allow", {"rule": "test/shipped"})}
		with data.interlock.custom.findings as {found("allow", {"note": "heard", "obligations": {"strip": ["x"]}})}
	decision.verdict == "allow"
	decision.obligations == {"strip": ["x"]}
	decision.notes == ["heard"]
	[answer.rule | some answer in decision.reasons] == ["test/shipped"]
}

test_own_findings_that_are_no_set_deny if {
	every odd in [[found("deny", {})], {"a": "b"}, "none", 1, null, false] {
		decision := data.interlock.decision with data.interlock.rules.findings as {found("allow", {})}
			with data.interlock.custom.findings as odd
		decision.verdict == "deny"
	}
}
