"""`python -m evalstats` is the command `evalstats`."""

from evalstats.cli.start import main

if __name__ == "__main__":
    main()
