"""`python -m moot` is the program `moot`."""

from moot._cli import main

if __name__ == "__main__":
    main()
