package interlock.rules_test

test_webfetch_port_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("webfetch/port") == {verdict} with input as visiting(reading, {"default_port": false})
			with data.interlock.settings.webfetch.other_port as verdict
	}
	silent("webfetch/port") with input as visiting(reading, {"default_port": false})
		with data.interlock.settings.webfetch.other_port as "allow"
}

test_webfetch_port_is_silent_for_the_usual_one_and_for_listed_hosts_inside if {
	silent("webfetch/port") with input as visiting(reading, {})
	silent("webfetch/port") with input as reading
	silent("webfetch/port") with input as visiting(reading, {"host": "wiki", "default_port": false, "reach": "local_name"})
		with data.interlock.settings.webfetch.internal_hosts as {"wiki": true}
}

test_webfetch_port_holds_without_the_fields_it_reads if {
	every field in {"default_port", "given", "host", "reach"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/port") == {"checkpoint"} with input as without(visiting(reading, {"default_port": false}), path)
			with data.interlock.settings.webfetch.other_port as "checkpoint"
	}
	verdicts("webfetch/port") == {"checkpoint"} with input as without(visiting(reading, {"default_port": false}), "tool")
		with data.interlock.settings.webfetch.other_port as "checkpoint"
}
