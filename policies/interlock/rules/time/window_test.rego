package interlock.rules_test

at(call, time, unix_s) := object.union(call, {"call": {"time": time, "time_unix_s": unix_s}})

office := {"office": {
	"calls": {"effects": ["mutating", "destructive"]},
	"days": ["mon", "tue", "wed", "thu", "fri"],
	"from": "08:00",
	"until": "18:00",
}}

night := {"night": {"calls": {}, "days": ["fri"], "from": "22:00", "until": "04:00", "verdict": "checkpoint"}}

# Thursday, 1 January 2026.
thursday := 1767225600

test_time_window_denies_outside_its_hours_and_days if {
	every moment in [
		["2026-01-01T07:59:59.000Z", thursday + 28799],
		["2026-01-01T18:00:00.000Z", thursday + 64800],
		["2026-01-03T12:00:00.000Z", (thursday + 172800) + 43200],
	] {
		[time, unix_s] := moment
		verdicts("time/window") == {"deny"} with input as at(changing, time, unix_s)
			with data.interlock.settings.time.windows as office
	}
	message := "notes.set is called from 08:00 to 18:00 UTC only (office)"
	messages("time/window") == {message} with input as at(changing, "2026-01-01T06:00:00.000Z", thursday)
		with data.interlock.settings.time.windows as office
}

test_time_window_is_silent_within_and_for_other_calls if {
	every moment in [
		["2026-01-01T08:00:00.000Z", thursday + 28800],
		["2026-01-01T17:59:59.999Z", thursday + 64799],
	] {
		[time, unix_s] := moment
		silent("time/window") with input as at(changing, time, unix_s)
			with data.interlock.settings.time.windows as office
	}
	silent("time/window") with input as at(reading, "2026-01-01T03:00:00.000Z", thursday)
		with data.interlock.settings.time.windows as office
	silent("time/window") with input as changing
}

test_time_window_goes_past_midnight_from_the_day_it_begins if {
	friday := thursday + 86400
	every moment in [
		["2026-01-02T22:00:00.000Z", friday + 79200],
		["2026-01-03T03:59:59.000Z", (friday + 86400) + 14399],
	] {
		[time, unix_s] := moment
		silent("time/window") with input as at(reading, time, unix_s)
			with data.interlock.settings.time.windows as night
	}
	every moment in [
		["2026-01-02T03:00:00.000Z", friday + 10800],
		["2026-01-02T21:59:59.000Z", friday + 79199],
		["2026-01-03T04:00:00.000Z", (friday + 86400) + 14400],
		["2026-01-03T22:00:00.000Z", (friday + 86400) + 79200],
	] {
		[time, unix_s] := moment
		verdicts("time/window") == {"checkpoint"} with input as at(reading, time, unix_s)
			with data.interlock.settings.time.windows as night
	}
}

test_time_window_holds_without_the_fields_it_reads if {
	within := at(changing, "2026-01-01T12:00:00.000Z", thursday + 43200)
	every path in {"call/time", "call/time_unix_s", "call"} {
		verdicts("time/window") == {"deny"} with input as without(within, path)
			with data.interlock.settings.time.windows as office
	}
	outside := at(changing, "2026-01-01T03:00:00.000Z", thursday)
	every path in {"tool/effect", "tool", "call/kind"} {
		verdicts("time/window") == {"deny"} with input as without(outside, path)
			with data.interlock.settings.time.windows as office
	}
}

test_time_window_holds_at_times_that_there_are_not if {
	every unix_s in [1.5e300, 1e21, 253402300800, -1, "1767268800", null, true, {}] {
		verdicts("time/window") == {"deny"} with input as at(changing, "2026-01-01T12:00:00.000Z", unix_s)
			with data.interlock.settings.time.windows as office
	}
}

test_time_window_does_not_hold_up_an_undo if {
	undo := object.union(at(changing, "2026-01-01T03:00:00.000Z", thursday), {"call": {"kind": "undo"}})
	silent("time/window") with input as undo with data.interlock.settings.time.windows as office
}

test_time_window_never_allows if {
	every verdict in ["allow", "none", "maybe", null] {
		verdicts("time/window") == {"deny"} with input as at(changing, "2026-01-01T03:00:00.000Z", thursday)
			with data.interlock.settings.time.windows as {"odd": {"from": "08:00", "until": "18:00", "verdict": verdict}}
	}
}

test_time_window_lets_nothing_through_that_cannot_be_read if {
	within := at(changing, "2026-01-01T12:00:00.000Z", thursday + 43200)
	odd := [{}, {"from": "08:00"}, {"from": 480, "until": "18:00"}, {"from": "08:00", "until": "18:00", "days": ["thursday"]}]
	every window in odd {
		verdicts("time/window") == {"deny"} with input as within
			with data.interlock.settings.time.windows as {"odd": window}
	}
}
