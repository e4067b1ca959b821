"""`python -m swirl` is the command `swirl`."""

from swirl.cli import main

if __name__ == "__main__":
    main()
