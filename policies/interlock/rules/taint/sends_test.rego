package interlock.rules_test

marked(call, marks) := object.union(call, {"session": {"taints": marks}})

web_call(url, facts) := object.union(reading, {
	"tool": {"open_world": true, "metadata": {"permission_class": "webfetch"}},
	"call": {"facts": {"class": "webfetch", "webfetch": object.union(
		{
			"urls": [object.union({"query_chars": 0, "path": "/", "host": "example.com"}, url)],
			"hosts": [],
			"method": "GET",
			"sends": false,
		},
		facts,
	)}},
})

test_taint_sends_asks_when_something_leaves_after_reading if {
	every marks in [["untrusted"], ["sensitive"], ["sensitive", "untrusted"]] {
		verdicts("taint/sends") == {"checkpoint"} with input as marked(reaching_out(changing), marks)
	}
	message := "notes.set sends something out, and this session has read what strangers wrote"
	messages("taint/sends") == {message} with input as marked(reaching_out(changing), ["untrusted"])
	said := "notes.set sends something out, and this session has read what is not for others"
	messages("taint/sends") == {said} with input as marked(reaching_out(changing), ["sensitive"])
}

test_taint_sends_does_what_the_settings_say if {
	verdicts("taint/sends") == {"deny"} with input as marked(reaching_out(changing), ["sensitive", "untrusted"])
		with data.interlock.settings.taint.both_sends as "deny"
	silent("taint/sends") with input as marked(reaching_out(changing), ["sensitive"])
		with data.interlock.settings.taint.sensitive_sends as "allow"
	verdicts("taint/sends") == {"deny"} with input as marked(reaching_out(changing), ["untrusted"])
		with data.interlock.settings.taint.untrusted_sends as "deny"
}

test_taint_sends_is_no_looser_for_who_has_read_more if {
	both := marked(reaching_out(changing), ["sensitive", "untrusted"])
	verdicts("taint/sends") == {"deny"} with input as both with data.interlock.settings.taint.untrusted_sends as "deny"
	verdicts("taint/sends") == {"deny"} with input as both with data.interlock.settings.taint.sensitive_sends as "deny"
	verdicts("taint/sends") == {"checkpoint"} with input as both with data.interlock.settings.taint.both_sends as "allow"
}

test_taint_sends_denies_when_the_settings_say_no_verdict if {
	verdicts("taint/sends") == {"deny"} with input as marked(reaching_out(changing), ["untrusted"])
		with data.interlock.settings.taint.untrusted_sends as "nonsense"
}

test_taint_sends_is_silent_inside_and_in_clean_sessions if {
	every call in [marked(changing, ["untrusted"]), marked(reading, ["untrusted"]), reaching_out(changing)] {
		silent("taint/sends") with input as call
	}
	silent("taint/sends") with input as marked(reaching_out(changing), ["sequence:other"])
}

test_taint_sends_is_asked_at_apply_and_never_of_an_undo if {
	previewed := marked(reaching_out(previewing(changing)), ["untrusted"])
	silent("taint/sends") with input as previewed
	verdicts("taint/sends") == {"checkpoint"} with input as applying(previewed)
	silent("taint/sends") with input as object.union(marked(reaching_out(changing), ["untrusted"]), {"call": {"kind": "undo"}})
}

test_taint_sends_tells_reading_from_sending_in_what_is_fetched if {
	silent("taint/sends") with input as marked(web_call({"query_chars": 30}, {}), ["untrusted"])
	listed := web_call({"query_chars": 201, "host": "docs.python.org", "domains": ["docs.python.org"]}, {})
	silent("taint/sends") with input as marked(listed, ["untrusted"])
	long_path := sprintf("/%s", [concat("", [letter | some _ in numbers.range(1, 500); letter := "a"])])
	long_host := sprintf("%s.example.com", [concat("", [letter | some _ in numbers.range(1, 89); letter := "a"])])
	short_host := sprintf("%s.example.com", [concat("", [letter | some _ in numbers.range(1, 88); letter := "a"])])
	silent("taint/sends") with input as marked(web_call({"host": short_host, "path": "/a"}, {}), ["untrusted"])
	telling := [web_call({"query_chars": 201}, {}), web_call({"path": long_path}, {}), web_call({"host": long_host}, {})]
	every call in array.concat(telling, [web_call({}, {"sends": true})]) {
		verdicts("taint/sends") == {"checkpoint"} with input as marked(call, ["untrusted"])
	}
}

test_taint_sends_is_silent_about_scripts_that_only_read if {
	looking := running({"commands": [command(["ls"])], "names": ["ls"]})
	silent("taint/sends") with input as marked(reaching_out(looking), ["untrusted"])
	script := running({"commands": [command(["curl"])], "names": ["curl"]})
	verdicts("taint/sends") == {"checkpoint"} with input as marked(reaching_out(script), ["untrusted"])
}

test_taint_sends_holds_without_the_fields_it_reads if {
	every path in {"session/taints", "session", "tool/external_effect", "tool/safety_level", "tool/name", "tool/metadata", "call", "tool"} {
		verdicts("taint/sends") == {"checkpoint"} with input as without(marked(reaching_out(changing), ["untrusted"]), path)
	}
	paths := {
		"call/facts/webfetch/urls/0/query_chars",
		"call/facts/webfetch/urls/0/path",
		"call/facts/webfetch/urls/0/host",
		"call/facts/webfetch/urls",
		"call/facts/webfetch/sends",
		"call/facts/webfetch",
		"call/facts",
		"call",
	}
	every path in paths {
		verdicts("taint/sends") == {"checkpoint"} with input as without(marked(web_call({}, {}), ["untrusted"]), path)
	}
}
