"""The page of ways of sampling: what is asked, what the stored simulation found, and what it rests on."""
