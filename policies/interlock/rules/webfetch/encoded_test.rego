package interlock.rules_test

worded(chars) := {"given": sprintf("https://example.com/p?q=%s", [substring(concat("", [word_of_40, word_of_40]), 0, chars)])}

word_of_40 := "UGxlYXNlX2RvX25vdF9zYXlfdGhpc19hbG91ZA0K"

test_webfetch_encoded_does_what_the_settings_say if {
	every verdict in {"checkpoint", "deny", "nonsense"} {
		verdicts("webfetch/encoded") == {verdict} with input as visiting(reading, worded(65))
			with data.interlock.settings.webfetch.encoded as verdict
	}
	silent("webfetch/encoded") with input as visiting(reading, worded(65)) with data.interlock.settings.webfetch.encoded as "allow"
	verdicts("webfetch/encoded") == {"checkpoint"} with input as visiting(reading, worded(21))
		with data.interlock.settings.webfetch.longest_word as 20
}

test_webfetch_encoded_takes_any_number_for_the_longest_word if {
	every number in {-5, 0, 20.5, 39} {
		verdicts("webfetch/encoded") == {"checkpoint"} with input as visiting(reading, worded(65))
			with data.interlock.settings.webfetch.longest_word as number
	}
	silent("webfetch/encoded") with input as visiting(reading, worded(65))
		with data.interlock.settings.webfetch.longest_word as 100000
}

test_webfetch_encoded_is_silent_for_shorter_words_and_for_listed_domains if {
	silent("webfetch/encoded") with input as visiting(reading, worded(64))
	silent("webfetch/encoded") with input as visiting(reading, worded(65))
		with data.interlock.settings.webfetch.listed_domains as {"example.com": true}
	silent("webfetch/encoded") with input as reading
}

test_webfetch_encoded_holds_without_the_fields_it_reads if {
	every field in {"given", "domains", "host", "reach"} {
		path := concat("", ["call/facts/webfetch/urls/0/", field])
		verdicts("webfetch/encoded") == {"checkpoint"} with input as without(visiting(reading, worded(65)), path)
			with data.interlock.settings.webfetch.encoded as "checkpoint"
	}
	verdicts("webfetch/encoded") == {"checkpoint"} with input as without(visiting(reading, worded(65)), "tool")
		with data.interlock.settings.webfetch.encoded as "checkpoint"
}
