package interlock.rules_test

test_webfetch_userinfo_denies if {
	verdicts("webfetch/userinfo") == {"deny"} with input as visiting(reading, {"userinfo": true})
}

test_webfetch_userinfo_denies_when_one_of_several_has_it if {
	both := json.patch(visiting(reading, {}), [{
		"op": "add",
		"path": "call/facts/webfetch/urls/1",
		"value": {"userinfo": true},
	}])
	verdicts("webfetch/userinfo") == {"deny"} with input as both
}

test_webfetch_userinfo_is_silent_without if {
	silent("webfetch/userinfo") with input as visiting(reading, {})
	silent("webfetch/userinfo") with input as reading
}

test_webfetch_userinfo_holds_without_the_fields_it_reads if {
	every path in {"call/facts/webfetch/urls/0/userinfo", "call/facts/webfetch/urls"} {
		verdicts("webfetch/userinfo") == {"deny"} with input as without(visiting(reading, {}), path)
	}
	verdicts("webfetch/userinfo") == {"deny"} with input as without(visiting(reading, {"userinfo": true}), "tool")
	verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), "call/facts/webfetch")
}
