package interlock.rules_test

test_webfetch_ambiguous_denies_what_can_be_read_in_several_ways if {
	every hazard in {"stripped_characters", "backslash", "read_differently", "several_urls", "invisible_characters"} {
		verdicts("webfetch/ambiguous") == {"deny"} with input as visiting(reading, {"hazards": [hazard]})
	}
}

test_webfetch_ambiguous_denies_only_what_the_settings_name if {
	silent("webfetch/ambiguous") with input as visiting(reading, {"hazards": ["backslash"]})
		with data.interlock.settings.webfetch.denied_hazards as []
}

test_webfetch_ambiguous_is_silent_for_plain_urls if {
	silent("webfetch/ambiguous") with input as visiting(reading, {})
	silent("webfetch/ambiguous") with input as reading
}

test_webfetch_ambiguous_holds_without_the_fields_it_reads if {
	hidden := visiting(reading, {"hazards": ["backslash"]})
	every field in {"hazards", "given", "host"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/ambiguous") == {"deny"} with input as without(hidden, path)
	}
	verdicts("webfetch/ambiguous") == {"deny"} with input as without(hidden, "tool/metadata")
	verdicts("webfetch/unreadable") == {"deny"} with input as without(hidden, "call/facts/webfetch")
}
