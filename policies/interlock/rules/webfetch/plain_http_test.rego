package interlock.rules_test

test_webfetch_plain_http_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("webfetch/plain_http") == {verdict} with input as visiting(reading, {"scheme": "http"})
			with data.interlock.settings.webfetch.plain_http as verdict
	}
	silent("webfetch/plain_http") with input as visiting(reading, {"scheme": "http"})
		with data.interlock.settings.webfetch.plain_http as "allow"
}

test_webfetch_plain_http_is_silent_for_https_and_for_listed_hosts_inside if {
	silent("webfetch/plain_http") with input as visiting(reading, {})
	silent("webfetch/plain_http") with input as reading
	silent("webfetch/plain_http") with input as visiting(reading, {"scheme": "http", "host": "wiki", "reach": "local_name"})
		with data.interlock.settings.webfetch.internal_hosts as {"wiki": true}
}

test_webfetch_plain_http_advises_https_for_no_url_of_another_kind if {
	every scheme in {"file", "ftp", "javascript", "data"} {
		silent("webfetch/plain_http") with input as visiting(reading, {"scheme": scheme})
			with data.interlock.settings.webfetch.plain_http as "deny"
		verdicts("webfetch/scheme") == {"deny"} with input as visiting(reading, {"scheme": scheme})
	}
}

test_webfetch_plain_http_holds_without_the_fields_it_reads if {
	every field in {"scheme", "given", "host", "reach"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/plain_http") == {"deny"} with input as without(visiting(reading, {"scheme": "http"}), path)
			with data.interlock.settings.webfetch.plain_http as "deny"
	}
	verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), "call/facts/webfetch")
}
