package interlock.rules_test

catching := {"host": "x.webhook.site", "domains": ["x.webhook.site", "webhook.site", "site"]}

test_webfetch_blocked_denies_the_listed_domains_and_all_below if {
	verdicts("webfetch/blocked") == {"deny"} with input as visiting(reading, catching)
	verdicts("webfetch/blocked") == {"deny"} with input as visiting(reading, {"host": "10.1.1.1", "domains": []})
		with data.interlock.settings.webfetch.blocked_domains as {"10.1.1.1": true}
}

test_webfetch_blocked_is_silent_for_others if {
	silent("webfetch/blocked") with input as visiting(reading, {})
	silent("webfetch/blocked") with input as visiting(reading, {"host": "notwebhook.site", "domains": ["notwebhook.site", "site"]})
	silent("webfetch/blocked") with input as reading
}

test_webfetch_blocked_holds_without_the_other_fields_it_reads if {
	verdicts("webfetch/blocked") == {"deny"} with input as without(visiting(reading, catching), "call/facts/webfetch/urls/0/host")
	verdicts("webfetch/blocked") == {"deny"} with input as without(visiting(reading, catching), "call/facts/webfetch/urls/0/given")
	verdicts("webfetch/blocked") == {"deny"} with input as without(visiting(reading, catching), "tool")
}

test_webfetch_blocked_is_followed_by_another_rule_when_its_facts_are_missing if {
	every path in {"call/facts/webfetch/urls/0/domains", "call/facts/webfetch/urls", "call/facts/webfetch"} {
		verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, catching), path)
	}
}
