"""What is said of a result, once: a document of sections, numbers and phrases, and its views."""
