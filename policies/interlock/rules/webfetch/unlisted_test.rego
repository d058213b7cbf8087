package interlock.rules_test

test_webfetch_unlisted_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("webfetch/unlisted") == {verdict} with input as visiting(reading, {})
			with data.interlock.settings.webfetch.unlisted as verdict
	}
	silent("webfetch/unlisted") with input as visiting(reading, {}) with data.interlock.settings.webfetch.unlisted as "allow"
}

test_webfetch_unlisted_is_silent_for_listed_domains_all_below_and_listed_hosts_inside if {
	silent("webfetch/unlisted") with input as visiting(reading, {})
		with data.interlock.settings.webfetch.unlisted as "deny"
		with data.interlock.settings.webfetch.listed_domains as {"com": true}
	silent("webfetch/unlisted") with input as visiting(reading, {"host": "wiki", "domains": ["wiki"], "reach": "local_name"})
		with data.interlock.settings.webfetch.unlisted as "deny"
		with data.interlock.settings.webfetch.internal_hosts as {"wiki": true}
	silent("webfetch/unlisted") with input as reading with data.interlock.settings.webfetch.unlisted as "deny"
}

test_webfetch_unlisted_holds_without_the_fields_it_reads if {
	every field in {"domains", "host", "given", "reach"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/unlisted") == {"checkpoint"} with input as without(visiting(reading, {}), path)
			with data.interlock.settings.webfetch.unlisted as "checkpoint"
	}
	verdicts("webfetch/unlisted") == {"checkpoint"} with input as without(visiting(reading, {}), "tool")
		with data.interlock.settings.webfetch.unlisted as "checkpoint"
}
