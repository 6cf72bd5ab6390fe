"""What is installed, beside what the defect was seen with."""


def say_versions():
    """Print the versions; ends the script with 4 where a package is missing."""
    for name, seen in SEEN_WITH.items():
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            print(f"{name} is not installed: pip install {name}=={seen}")
            sys.exit(4)
        print(name, have, "" if have == seen else f"(seen with {seen})")


def load(name):
    """The arrays of a file beside this script, in their order."""
    with np.load(os.path.join(HERE, name)) as file:
        return [file[key] for key in file.files]
