package interlock.rules_test

holidays := {"holidays": {
	"calls": {"session_labels": {"env": ["prod"]}},
	"from": "2026-12-23T12:00:00Z",
	"until": "2027-01-02T06:00:00Z",
}}

in_production(time) := object.union(at(changing, time, 0), {"session": {"labels": {"env": "prod"}}})

test_time_freeze_denies_in_between if {
	every time in ["2026-12-23T12:00:00.000Z", "2026-12-31T23:59:59.999Z", "2027-01-02T05:59:59.999Z"] {
		verdicts("time/freeze") == {"deny"} with input as in_production(time)
			with data.interlock.settings.time.freezes as holidays
	}
	message := "notes.set is not called until 2027-01-02T06:00:00Z (holidays)"
	messages("time/freeze") == {message} with input as in_production("2026-12-24T00:00:00.000Z")
		with data.interlock.settings.time.freezes as holidays
}

test_time_freeze_is_silent_before_after_elsewhere_and_for_undo if {
	every time in ["2026-12-23T11:59:59.999Z", "2027-01-02T06:00:00.000Z"] {
		silent("time/freeze") with input as in_production(time)
			with data.interlock.settings.time.freezes as holidays
	}
	staging := {"session": {"labels": {"env": "staging"}}}
	silent("time/freeze") with input as object.union(at(changing, "2026-12-24T00:00:00.000Z", 0), staging)
		with data.interlock.settings.time.freezes as holidays
	undo := object.union(in_production("2026-12-24T00:00:00.000Z"), {"call": {"kind": "undo"}})
	silent("time/freeze") with input as undo
		with data.interlock.settings.time.freezes as holidays
}

test_time_freeze_does_what_the_settings_say if {
	verdicts("time/freeze") == {"checkpoint"} with input as in_production("2026-12-24T00:00:00.000Z")
		with data.interlock.settings.time.freezes as {"holidays": object.union(
			holidays.holidays,
			{"verdict": "checkpoint"},
		)}
}

test_time_freeze_holds_without_the_fields_it_reads if {
	every path in {"call/time", "call", "session/labels/env", "session/labels", "session", "tool"} {
		verdicts("time/freeze") == {"deny"} with input as without(in_production("2026-12-24T00:00:00.000Z"), path)
			with data.interlock.settings.time.freezes as holidays
	}
}

test_time_freeze_takes_a_time_that_is_not_in_utc_for_none if {
	every times in [{"from": "2026-01-01T00:00:00+02:00"}, {"until": "2026-01-02T00:00:00+02:00"}] {
		freeze := object.union({"from": "2026-01-01T00:00:00Z", "until": "2026-12-30T00:00:00Z"}, times)
		verdicts("time/freeze") == {"deny"} with input as at(changing, "2026-06-01T00:00:00.000Z", 0)
			with data.interlock.settings.time.freezes as {"odd": freeze}
	}
}
