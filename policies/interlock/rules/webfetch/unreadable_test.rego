package interlock.rules_test

test_webfetch_unreadable_denies_when_nothing_was_extracted if {
	lost := object.union(visiting(reading, {}), {"call": {"facts": {"extracted": false, "error": "no URL"}}})
	verdicts("webfetch/unreadable") == {"deny"} with input as lost
	messages("webfetch/unreadable") == {"it is not known where the URL leads: no URL"} with input as lost
}

test_webfetch_unreadable_denies_when_there_is_no_url if {
	none := json.patch(visiting(reading, {}), [{"op": "replace", "path": "call/facts/webfetch/urls", "value": []}])
	verdicts("webfetch/unreadable") == {"deny"} with input as none
}

test_webfetch_unreadable_denies_facts_of_another_class if {
	swapped := object.union(visiting(reading, {}), {"call": {"facts": {"class": "file"}}})
	verdicts("webfetch/unreadable") == {"deny"} with input as swapped
}

test_webfetch_unreadable_is_silent_when_it_is_known if {
	silent("webfetch/unreadable") with input as visiting(reading, {})
	silent("webfetch/unreadable") with input as reading
}

test_webfetch_unreadable_holds_without_the_fields_it_reads if {
	every field in {"error", "scheme", "reach", "domains"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), path)
	}
	every path in {"call/facts/webfetch/urls", "call/facts/webfetch", "call/facts/extracted", "call/facts", "call"} {
		verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), path)
	}
	lost := object.union(visiting(reading, {}), {"call": {"facts": {"extracted": false}}})
	verdicts("webfetch/unreadable") == {"deny"} with input as without(lost, "tool/metadata")
}
