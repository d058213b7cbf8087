package interlock.rules_test

test_bash_packages_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny"} {
		verdicts("bash/packages") == {verdict} with input as one(["pip", "install", "x"], {})
			with data.interlock.settings.bash.package_managers_verdict as verdict
		verdicts("bash/packages") == {verdict} with input as one(["apt-get", "install", "x"], {})
			with data.interlock.settings.bash.package_managers_verdict as verdict
	}
}

test_bash_packages_is_silent_for_what_installs_nothing if {
	silent("bash/packages") with input as one(["pip", "list"], {})
	silent("bash/packages") with input as one(["npm", "test"], {})
	silent("bash/packages") with input as listing
	silent("bash/packages") with input as destroying
}

test_bash_packages_holds_without_the_other_fields_it_reads if {
	every path in {"tool", "call/facts/bash/commands/0/text", "call/facts/bash/commands/0/flags"} {
		verdicts("bash/packages") == {"checkpoint"} with input as without(one(["pip", "install", "x"], {}), path)
	}
}

test_bash_packages_is_followed_by_another_rule_when_its_facts_are_missing if {
	every field in {"name", "operands"} {
		path := concat("/", ["call/facts/bash/commands/0", field])
		verdicts("bash/other") == {"checkpoint"} with input as without(one(["pip", "install", "x"], {}), path)
	}
}

test_bash_packages_lets_the_listed_tools_be_run_from_where_they_are if {
	silent("bash/packages") with input as one(["npx", "tsc"], {})
	every argv in [["npx", "cowsay"], ["npx"]] {
		verdicts("bash/packages") == {"checkpoint"} with input as one(argv, {})
	}
	verdicts("bash/packages") == {"checkpoint"} with input as one(["npx", "-p", "cowsay", "tsc"], {})
	verdicts("bash/packages") == {"checkpoint"} with input as without(one(["npx", "tsc"], {}), "call/facts/bash/commands/0/operands")
}
