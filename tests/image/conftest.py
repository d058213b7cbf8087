"""What plays the whole Dockerfile takes a minute or two, and is run by `make image-root`."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "image"))
collect_ignore = [] if os.environ.get("INTERLOCK_IMAGE_ROOT") else ["test_clean_root.py"]
