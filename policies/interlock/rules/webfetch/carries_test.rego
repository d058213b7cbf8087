package interlock.rules_test

long := {"query": true, "query_chars": 1001}

test_webfetch_carries_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("webfetch/carries") == {verdict} with input as visiting(reading, long)
			with data.interlock.settings.webfetch.long_query as verdict
	}
	silent("webfetch/carries") with input as visiting(reading, long) with data.interlock.settings.webfetch.long_query as "allow"
}

test_webfetch_carries_is_silent_for_shorter_ones_and_for_listed_domains if {
	silent("webfetch/carries") with input as visiting(reading, {"query": true, "query_chars": 1000})
	silent("webfetch/carries") with input as visiting(reading, long)
		with data.interlock.settings.webfetch.listed_domains as {"example.com": true}
	silent("webfetch/carries") with input as reading
}

test_webfetch_carries_asks_about_long_paths if {
	some_path := {"path": concat("/", [sprintf("words%d", [number]) | some number in numbers.range(1000, 1200)])}
	verdicts("webfetch/carries") == {"checkpoint"} with input as visiting(reading, some_path)
		with data.interlock.settings.webfetch.long_query as "checkpoint"
	silent("webfetch/carries") with input as visiting(reading, {"path": "/a/b"})
	tainted_visit := object.union(visiting(reading, some_path), {"session": {"taints": ["untrusted"]}})
	verdicts("taint/sends") == {"checkpoint"} with input as tainted_visit
}

test_webfetch_carries_holds_without_the_fields_it_reads if {
	every field in {"query_chars", "path", "domains", "host", "reach"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/carries") == {"checkpoint"} with input as without(visiting(reading, long), path)
			with data.interlock.settings.webfetch.long_query as "checkpoint"
	}
	verdicts("webfetch/carries") == {"checkpoint"} with input as without(visiting(reading, long), "tool")
		with data.interlock.settings.webfetch.long_query as "checkpoint"
}
