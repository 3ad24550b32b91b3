"""What several APIs share."""
