"""Import skills: `skillfit import source=PATH out=DIR` (see conf/import.yaml)."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import job, plain, set_up_logging
from skillfit.errors import UserError


@job("import")
def main(cfg: DictConfig) -> None:
    """Import the sources into one folder, print what became of every file, and end stdout with the folder."""
    set_up_logging(cfg.verbose)
    config = plain(cfg)
    from skillfit.data.importer import import_skills
    from skillfit.data.named import mini_source
    from skillfit.data.options import ImportOptions

    options = ImportOptions(**{option.name: config[option.name] for option in fields(ImportOptions)})
    sources = config["source"] if isinstance(config["source"], list) else [config["source"]]
    if not sources or not all(isinstance(source, str) and source for source in sources):
        raise UserError("config", "source", config["source"], "name a path, or a list of paths: source='[A,B]'")
    paths = [str(mini_source()) if source == "mini" else source for source in sources]
    import_skills(paths, Path(str(config["out"])), options)
    sys.stdout.write(f"{config['out']}\n")


if __name__ == "__main__":
    main()
