package interlock.rules_test

test_sql_read_only_allows_whatever_the_tool_could_do if {
	every call in [reading, changing, destroying, reaching_out(destroying), previewing(destroying)] {
		verdicts("sql/read_only") == {"allow"} with input as querying(call, {}, {})
		others_than_confidence == {"sql/read_only"} with input as querying(call, {}, {})
	}
}

# Settings may ask any tool for a confidence.
others_than_confidence := {finding.rule |
	some finding in data.interlock.rules.findings
	finding.verdict != "none"
	not startswith(finding.rule, "confidence/")
}

test_sql_read_only_is_silent_for_what_changes_something if {
	silent("sql/read_only") with input as stating(changing, {"effect": "write"})
	silent("sql/read_only") with input as querying(undeclared, {}, {})
	silent("sql/read_only") with input as reading
}

test_sql_read_only_is_silent_without_the_fields_it_reads if {
	every field in {"read_only", "parse_error", "dynamic", "effects"} {
		path := concat("", ["call/facts/sql/", field])
		silent("sql/read_only") with input as without(querying(destroying, {}, {}), path)
		silent("readonly/allow") with input as without(querying(reading, {}, {}), path)
	}
	every path in {"call/facts/sql", "call/facts/extracted", "call/facts", "tool/declared", "tool/pin_state", "tool"} {
		silent("sql/read_only") with input as without(querying(destroying, {}, {}), path)
		silent("readonly/allow") with input as without(querying(reading, {}, {}), path)
	}
}
