"""The paper's §4.2: mice in a labyrinth, with water and home."""
