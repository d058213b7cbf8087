package interlock.rules_test

test_webfetch_scheme_denies_what_is_not_listed if {
	every scheme in {"file", "data", "javascript", "ftp", "gopher", "ws", ""} {
		strange := visiting(reading, {"given": "x:y", "scheme": scheme, "host": null, "reach": "none"})
		verdicts("webfetch/scheme") == {"deny"} with input as strange
		messages("webfetch/scheme") == {"URLs of this scheme are not fetched: x:y"} with input as strange
	}
}

test_webfetch_scheme_is_silent_for_web_pages if {
	every scheme in {"http", "https"} {
		silent("webfetch/scheme") with input as visiting(reading, {"scheme": scheme})
	}
	silent("webfetch/scheme") with input as reading
}

test_webfetch_scheme_holds_without_the_fields_it_reads if {
	every field in {"scheme", "given"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/scheme") == {"deny"} with input as without(visiting(reading, {"scheme": "file"}), path)
	}
	verdicts("webfetch/scheme") == {"deny"} with input as without(visiting(reading, {"scheme": "file"}), "tool/metadata")
	verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), "call/facts/webfetch")
}
