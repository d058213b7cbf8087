package interlock_test

obliged(duties) := obligations if {
	findings := {found("allow", {"code": sprintf("%d", [index]), "obligations": duty}) | some index, duty in duties}
	obligations := decided(findings).obligations
}

contradicted(duties) := [answer.code | some answer in decided(findings).reasons] if {
	findings := {found("allow", {"code": sprintf("%d", [index]), "obligations": duty}) | some index, duty in duties}
	decided(findings).verdict == "deny"
}

test_obligations_are_empty_when_nothing_is_asked if {
	decided({found("allow", {})}).obligations == {}
}

test_obligations_join_what_is_taken_away if {
	obliged([{"strip": ["b", "a"]}, {"strip": ["c", "a"]}]) == {"strip": ["a", "b", "c"]}
	obliged([{"redact": ["/a"]}, {"redact": ["/b"]}]) == {"redact": ["/a", "/b"]}
	obliged([{"taint": ["x"]}, {"taint": ["y"]}]) == {"taint": ["x", "y"]}
}

test_obligations_take_the_least_limit if {
	every name in {"max_result_bytes", "timeout_s", "expires_s"} {
		obliged([{name: 5}, {name: 3}, {name: 4}]) == {name: 3}
	}
}

test_obligations_keep_a_limit_beside_one_that_says_nothing if {
	every name in {"max_result_bytes", "timeout_s", "expires_s", "quorum", "escalate_after_s"} {
		obliged([{name: 5}, {name: null}]) == {name: 5}
		obliged([{name: 5}, {name: null}, {"strip": ["a"]}]) == {name: 5, "strip": ["a"]}
	}
}

test_obligations_take_the_greatest_quorum if {
	obliged([{"quorum": 1}, {"quorum": 3}, {"quorum": 2}]) == {"quorum": 3}
}

test_obligations_take_the_approvers_whom_every_rule_accepts if {
	obliged([{"approvers": ["a", "b"]}, {"approvers": ["b", "c"]}]) == {"approvers": ["b"]}
}

test_obligations_escalate_only_to_those_whom_every_rule_accepts if {
	obliged([{"approvers": ["a"], "escalate_to": ["b", "c"]}, {"approvers": ["a"], "escalate_to": ["c", "d"]}]) == {
		"approvers": ["a"],
		"escalate_to": ["c"],
	}
	obliged([{"approvers": ["a"]}, {"escalate_to": ["b"], "quorum": 2}]) == {"approvers": ["a"], "quorum": 2}
	obliged([{"escalate_to": ["b"]}, {"timeout_s": 3}]) == {"escalate_to": ["b"], "timeout_s": 3}
}

test_obligations_escalate_as_late_as_any_rule_wants if {
	obliged([{"escalate_after_s": 5}, {"escalate_after_s": 9}]) == {"escalate_after_s": 9}
}

test_obligations_without_a_common_approver_deny if {
	contradicted([{"approvers": ["a"]}, {"approvers": ["b"]}]) == ["no_common_approver"]
}

test_obligations_join_changes if {
	obliged([{"set": {"a": 1}}, {"set": {"b": 2}}, {"set": {"a": 1}}]) == {"set": {"a": 1, "b": 2}}
}

test_obligations_with_two_values_for_a_field_deny if {
	contradicted([{"set": {"a": 1}}, {"set": {"a": 2}}]) == ["conflicting_changes"]
}

test_obligations_of_weaker_findings_hold_too if {
	decision := decided({
		found("checkpoint", {"obligations": {"quorum": 2}}),
		found("allow", {"obligations": {"timeout_s": 3}}),
	})
	decision.verdict == "checkpoint"
	decision.obligations == {"quorum": 2, "timeout_s": 3}
}

test_obligations_of_several_kinds_stand_side_by_side if {
	obliged([{"strip": ["a"], "quorum": 2}, {"timeout_s": 3, "set": {"x": null}}]) == {
		"strip": ["a"],
		"quorum": 2,
		"timeout_s": 3,
		"set": {"x": null},
	}
}

test_obligations_of_one_rule_are_taken_as_they_are if {
	obliged([{"strip": ["b", "a"], "quorum": 2}]) == {"strip": ["b", "a"], "quorum": 2}
}
