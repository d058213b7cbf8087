package interlock.rules

# METADATA
# title: Outside the hours
# description: Calls that the settings name are let through within their hours and days only, in UTC.
# custom:
#   requirements: [POL-3, POL-4]
time_findings contains {
	"verdict": restriction(window, "deny"),
	"code": "outside_hours",
	"message": sprintf("%s is called from %s to %s UTC only (%s)", [
		tool_name,
		object.get(window, "from", "?"),
		object.get(window, "until", "?"),
		name,
	]),
	"rule": "time/window",
} if {
	some name, window in data.interlock.settings.time.windows
	fits(object.get(window, "calls", {}))
	not undoing
	not within_hours(window)
}

# YAML reads times that are not in quotes as numbers.
within_hours(window) if {
	is_string(window.from)
	is_string(window.until)
	in_hours(window)
}

time_of_day := substring(input.call.time, 11, 5)

# Up to the year 9999: there are no days of numbers that are too large to be whole.
weekday := ["thu", "fri", "sat", "sun", "mon", "tue", "wed"][floor(input.call.time_unix_s / 86400) % 7] if {
	input.call.time_unix_s >= 0
	input.call.time_unix_s < 253402300800
}

in_hours(window) if {
	window.from < window.until
	on_day(window, weekday)
	window.from <= time_of_day
	time_of_day < window.until
}

in_hours(window) if {
	window.from >= window.until
	on_day(window, weekday)
	window.from <= time_of_day
}

# After midnight it is still the window of the day before.
in_hours(window) if {
	window.from >= window.until
	on_day(window, day_before[weekday])
	time_of_day < window.until
}

day_before := {"mon": "sun", "tue": "mon", "wed": "tue", "thu": "wed", "fri": "thu", "sat": "fri", "sun": "sat"}

on_day(window, _) if not window.days

on_day(window, day) if day in window.days
