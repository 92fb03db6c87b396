"""`python -m fitdoctor` is the same command as `fitdoctor`."""

from fitdoctor.cli import main

if __name__ == "__main__":
    main()
