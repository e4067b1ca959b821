"""What each command does, without a terminal: config, load, import, check, fit, compare, memory, doctor, demo."""
