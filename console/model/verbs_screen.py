"""Verbs that only move the screen or the player. A pure table."""

from __future__ import annotations

from console.model.verb import Need, Verb

SCREEN: tuple[Verb, ...] = (
    Verb("replay.toggle", "Play or pause", "Play or pause the replay.", "space", Need.REPLAY),
    Verb(
        "replay.faster",
        "Faster",
        "Double the replay's speed.",
        "greater_than_sign",
        Need.REPLAY,
    ),
    Verb("replay.slower", "Slower", "Halve the replay's speed.", "less_than_sign", Need.REPLAY),
    Verb("replay.forward", "Forward", "Ten seconds on.", "right", Need.REPLAY),
    Verb("replay.back", "Back", "Ten seconds back.", "left", Need.REPLAY),
    Verb("replay.next", "Next event", "One event on.", "full_stop", Need.REPLAY),
    Verb("replay.previous", "Previous event", "One event back.", "comma", Need.REPLAY),
    Verb("replay.start", "To the start", "Go to the start.", "home", Need.REPLAY),
    Verb("replay.end", "To the end", "Go to the end.", "end", Need.REPLAY),
    Verb("replay.goto", "Go to time", "Go to a time of the session.", "g", Need.REPLAY),
    *(
        Verb(f"replay.{way}_{what}", f"{title} {what}", f"{help_}.", key, Need.REPLAY)
        for what, next_key, previous_key, whole in (
            ("poll", "ctrl+right", "ctrl+left", "poll of a server or GPU"),
            ("marker", "ctrl+down", "ctrl+up", "marker"),
            ("act", "ctrl+pagedown", "ctrl+pageup", "act"),
            ("error", "x", "X", "error"),
        )
        for way, title, key, help_ in (
            ("next", "Next", next_key, f"On to the next {whole}"),
            ("previous", "Previous", previous_key, f"Back to the {whole} before"),
        )
    ),
    Verb(
        "replay.find",
        "Find in the session",
        "Go to the next event with a text.",
        "ctrl+f",
        Need.REPLAY,
    ),
    Verb("replay.idle", "Skip idle stretches", "Leap on where nothing happens.", "i", Need.REPLAY),
    Verb("servers.up", "Server above", "Select the server above.", "up,k"),
    Verb("servers.down", "Server below", "Select the server below.", "down,j"),
    Verb("logs.follow", "Follow the log", "Go to the newest line and stay there.", "f"),
    Verb("logs.pause", "Pause the log", "Hold the log still; lines go on arriving.", "p"),
    Verb("logs.page_up", "Log page up", "A page back, in the log or the focused pane.", "pageup"),
    Verb(
        "logs.page_down",
        "Log page down",
        "A page on, in the log or the focused pane.",
        "pagedown",
    ),
    Verb(
        "logs.line_up",
        "Line above",
        "Point at the log line above; elsewhere a line back.",
        "shift+up,K",
    ),
    Verb(
        "logs.line_down",
        "Line below",
        "Point at the log line below; elsewhere a line on.",
        "shift+down,J",
    ),
    Verb("logs.left", "Log left", "Scroll the log left.", "shift+left,H"),
    Verb("logs.right", "Log right", "Scroll the log right.", "shift+right,L"),
    *(
        Verb(f"mode.{mode}", title, help_, str(number))
        for number, (mode, title, help_) in enumerate(
            (
                ("dash", "Dashboard", "Servers, what was measured, the log."),
                ("logs", "Logs", "The log on the whole screen."),
                ("environment", "Environment", "What a server runs with, and what it lacks."),
                ("bench", "Benchmarks", "Runs, circumstances and the verdict."),
                ("session", "Session", "What was marked, done, noticed and lost."),
            ),
            1,
        )
    ),
    Verb(
        "logs.open",
        "Open",
        "A log line, what it says and means; else what stands behind the focused pane.",
        "enter",
    ),
    Verb("logs.filter", "Filter", "Show only log lines with a pattern.", "slash"),
    Verb("logs.exclude", "Exclude", "Hide log lines with a pattern.", "exclamation_mark"),
    Verb("logs.highlight", "Highlight", "Mark and count a pattern, hide nothing.", "asterisk"),
    Verb("logs.next_match", "Next match", "To the next log line that matches.", "n"),
    Verb("logs.previous_match", "Previous match", "To the match before.", "N"),
    Verb("logs.case", "Case", "Let upper and lower case differ in patterns, or not.", "C"),
    Verb("logs.word", "Whole words", "Let patterns find whole words only, or not.", "W"),
    Verb("logs.clear", "Show all lines", "End filter, highlight and preset.", "backspace"),
    Verb("logs.quiet", "Hide noise", "Hide health polls, then access lines, then all noise.", "u"),
    Verb("logs.fold", "Fold", "Fold tracebacks and repeats, or show every line.", "F"),
    Verb("logs.wrap", "Wrap", "Let long lines go on in further rows, or cut them.", "w"),
    Verb("logs.zone", "Times", "Lead log lines with their time in one zone, or not.", "Z"),
    Verb("logs.time", "Log to time", "To the first log line of a time.", "t"),
    Verb("logs.next_error", "Next log error", "To the next error.", "right_square_bracket"),
    Verb("logs.previous_error", "Log error before", "To the error before.", "left_square_bracket"),
    Verb("logs.next_marker", "Log to marker", "To the next marker.", "right_curly_bracket"),
    Verb("logs.previous_marker", "Log marker before", "To the one before.", "left_curly_bracket"),
    Verb("logs.select", "Select lines", "Begin a selection of log lines, or end it.", "v"),
    Verb("logs.copy", "Copy lines", "Copy the selected lines, or the one pointed at.", "y"),
    Verb("logs.save", "Save lines", "Write log lines to a new file.", "s"),
    Verb("logs.layout", "Lay out logs", "One log, all merged, or side by side.", "ampersand"),
    Verb("view.maximise", "Maximise", "Give the focused pane the whole screen.", "z"),
    Verb(
        "view.detail",
        "Detail",
        "Load, figures, GPUs and arguments of a server in place of its log.",
        "D",
    ),
    Verb("view.next", "Next pane", "Move to the next pane.", "tab"),
    Verb("view.previous", "Previous pane", "Move to the pane before.", "shift+tab"),
    Verb("view.help", "Help", "What the keys do.", "question_mark"),
    Verb("view.palette", "Palette", "Search everything this console can do.", "ctrl+p"),
    Verb("view.theme", "Theme", "Choose a theme.", "T"),
    Verb("view.mouse", "Mouse", "Take the mouse, or leave it to the terminal.", "M"),
    Verb("view.suspend", "Suspend", "Back to the shell; fg comes back here.", "ctrl+z"),
    Verb("view.quit", "Quit", "Leave the console.", "q,ctrl+q"),
)
