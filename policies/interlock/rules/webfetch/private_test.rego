package interlock.rules_test

test_webfetch_private_denies_what_is_not_public if {
	reaches := {
		"local_name", "loopback", "private", "link_local", "shared",
		"metadata", "multicast", "reserved", "unspecified", "",
	}
	every reach in reaches {
		verdicts("webfetch/private") == {"deny"} with input as visiting(reading, {"reach": reach})
	}
	verdicts("webfetch/private") == {"deny"} with input as visiting(reading, {"reach": "none"})
}

test_webfetch_private_denies_names_that_spell_addresses if {
	spelled := {"host": "10.0.0.1.nip.io", "domains": ["10.0.0.1.nip.io", "0.0.1.nip.io", "0.1.nip.io", "nip.io", "io"]}
	verdicts("webfetch/private") == {"deny"} with input as visiting(reading, spelled)
}

test_webfetch_private_lets_listed_hosts_through_but_no_metadata if {
	wiki := {"host": "wiki", "domains": ["wiki"], "reach": "local_name"}
	silent("webfetch/private") with input as visiting(reading, wiki)
		with data.interlock.settings.webfetch.internal_hosts as {"wiki": true}
	verdicts("webfetch/private") == {"deny"} with input as visiting(reading, object.union(wiki, {"reach": "metadata"}))
		with data.interlock.settings.webfetch.internal_hosts as {"wiki": true}
}

test_webfetch_private_is_silent_for_public_hosts_and_where_there_is_none if {
	silent("webfetch/private") with input as visiting(reading, {})
	silent("webfetch/private") with input as visiting(reading, {"host": null, "reach": "none", "scheme": "data"})
	silent("webfetch/private") with input as reading
}

test_webfetch_private_holds_without_the_fields_it_reads if {
	every field in {"reach", "host", "domains", "given"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/private") == {"deny"} with input as without(visiting(reading, {"reach": "private"}), path)
	}
	verdicts("webfetch/private") == {"deny"} with input as without(visiting(reading, {"reach": "private"}), "tool")
	verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), "call/facts/webfetch")
	verdicts("webfetch/unreadable") == {"deny"} with input as without(visiting(reading, {}), "call/facts/webfetch/urls/0/domains")
}
