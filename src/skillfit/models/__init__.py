"""Models by config: where they come from, how they encode, how they are saved. No loss and no trainer here."""
