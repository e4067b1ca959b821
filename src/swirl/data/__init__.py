"""What was observed, and where: sessions, environments, and the histories of states that lead to each step."""
