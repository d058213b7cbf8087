package interlock.rules_test

tracking := object.union(reading, {
	"tool": {"metadata": {"permission_class": "parcel"}},
	"call": {"facts": {"class": "parcel", "extracted": false, "error": "no extractor for this class"}},
})

test_facts_missing_asks_for_a_person if {
	verdicts("facts/missing") == {"checkpoint"} with input as tracking
}

test_facts_missing_asks_when_the_facts_are_of_another_class if {
	swapped := object.union(tracking, {"call": {"facts": {"class": "", "extracted": true}}})
	verdicts("facts/missing") == {"checkpoint"} with input as swapped
}

test_facts_missing_is_silent_when_they_are_there if {
	silent("facts/missing") with input as object.union(tracking, {"call": {"facts": {"extracted": true}}})
	silent("facts/missing") with input as reading
	silent("facts/missing") with input as undeclared
}

test_facts_missing_asks_about_facts_of_a_tool_that_declares_nothing if {
	bold := object.union(undeclared, {"call": {"facts": {"class": "sql"}}})
	verdicts("facts/missing") == {"checkpoint"} with input as bold
}

test_facts_missing_is_silent_for_classes_that_need_none if {
	every class in {"readonly", "generic"} {
		needless := object.union(tracking, {
			"tool": {"metadata": {"permission_class": class}},
			"call": {"facts": {"class": class}},
		})
		silent("facts/missing") with input as needless
	}
}

test_facts_missing_is_silent_for_classes_of_the_operators_own if {
	silent("facts/missing") with input as tracking
		with data.interlock.settings.facts.own_classes as {"parcel": true}
	every own in [{"mail": true}, {"parcel": false}, {}] {
		verdicts("facts/missing") == {"checkpoint"} with input as tracking
			with data.interlock.settings.facts.own_classes as own
	}
	every class in {"bash", "file", "webfetch", "sql"} {
		unread := object.union(tracking, {
			"tool": {"metadata": {"permission_class": class}},
			"call": {"facts": {"class": class}},
		})
		verdicts("facts/missing") == {"checkpoint"} with input as unread
			with data.interlock.settings.facts.own_classes as {class: true}
	}
}

test_facts_missing_holds_without_the_fields_it_reads if {
	found := object.union(tracking, {"call": {"facts": {"extracted": true}}})
	every path in {"call/facts/extracted", "call/facts/class", "call/facts", "call"} {
		verdicts("facts/missing") == {"checkpoint"} with input as without(found, path)
	}
	every path in {"tool/metadata/permission_class", "tool/metadata", "tool"} {
		verdicts("facts/missing") == {"deny"} with input as without(found, path)
	}
}
