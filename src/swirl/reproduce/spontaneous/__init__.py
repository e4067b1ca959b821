"""The paper's §4.3: syllables of mice in an open field, beside dopamine."""
