"""`python -m resstream` is the command `resstream`."""

from resstream.cli import main

if __name__ == "__main__":
    main()
