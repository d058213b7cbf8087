package interlock.rules_test

test_bash_privilege_denies if {
	every name in {"sudo", "su", "doas", "pkexec"} {
		verdicts("bash/privilege") == {"deny"} with input as one([name, "ls"], {})
	}
}

test_bash_privilege_is_silent_for_others if {
	silent("bash/privilege") with input as listing
	silent("bash/privilege") with input as destroying
}

test_bash_privilege_holds_without_the_other_fields_it_reads if {
	every field in {"subcommand", "text", "flags", "operands"} {
		path := concat("/", ["call/facts/bash/commands/0", field])
		verdicts("bash/privilege") == {"deny"} with input as without(one(["sudo", "ls"], {}), path)
	}
	verdicts("bash/privilege") == {"deny"} with input as without(one(["sudo", "ls"], {}), "tool")
}

test_bash_privilege_is_followed_by_another_rule_without_the_name if {
	verdicts("bash/other") == {"checkpoint"} with input as without(one(["sudo"], {}), "call/facts/bash/commands/0/name")
}
